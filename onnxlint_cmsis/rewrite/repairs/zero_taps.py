"""Rows and columns of zeros around the weights of a convolution, which change none of its sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph.tensor_codes import BITS
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

Taps = tuple[tuple[int, int], ...]
"""Zeros before and after, for each spatial axis."""


def refusal_of_weights(graph: Graph, record: LoweredLayer) -> str:
    """Why no zeros can be put around a layer's weights; empty where they can."""
    node = record.node
    key = node.inputs[operator_of(node).roles.second]
    producer = graph.producers.get(key)
    if producer is not None and operator_of(producer).dequantizes:
        key = producer.inputs[0]
    if not graph.stores(key):
        return "its weights are not stored as they are used"
    if record.weights is not None and len(set(record.weights.zero_points or ())) != 1:
        return "its weights have several zero-points"
    return ""


def surround(edit: GraphEdit, record: LoweredLayer, taps: Taps) -> None:
    """Give a layer weights with zeros around them. Raises NotAppliedError."""
    node, position = record.node, operator_of(record.node).roles.second
    producer = edit.graph.producers.get(node.inputs[position])
    dequantizer = producer if producer is not None and operator_of(producer).dequantizes else None
    zero = (record.weights.zero_points or (0,))[0] if record.weights else 0
    if dequantizer is None:
        edit.connect(node, position, _surrounded(edit, node, position, taps, zero))
        return
    integers = _surrounded(edit, dequantizer, 0, taps, zero)
    made = edit.fresh(f"{integers}_real")
    edit.insert_like(node, dequantizer, f"{made}_node", [integers, *edit.inputs(dequantizer)[1:]], [made])
    edit.connect(node, position, made)


def _surrounded(edit: GraphEdit, node: Node, position: int, taps: Taps, zero: int) -> str:
    """A new constant: a stored one with zeros around it."""
    stored = edit.stored(node, position)
    if stored.codes.ndim != len(taps) + 2:
        raise NotAppliedError(f"the weights of {node.label} have {stored.codes.ndim} axes")
    filler = zero & (1 << BITS[stored.elem_type]) - 1
    codes = np.pad(stored.codes, ((0, 0), (0, 0), *taps), constant_values=filler)
    return edit.add_constant(f"{node.inputs[position]}_with_zeros", stored.elem_type, codes)
