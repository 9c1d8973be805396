"""Multiply-accumulates of TensorFlow Lite's operators, from the shapes of their tensors."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.layer import product
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.types import Size

GATES = (*range(1, 9), 16)
"""Weights of an LSTM, which every step multiplies by, and those of its projection."""


def tflite_macs(graph: Graph, node: Node) -> int | None:
    """Multiply-accumulates of an operator; 0 where it has none, None where a size is unknown."""
    form, made = operator_of(node).roles.form, _shape(graph, node.outputs[:1], 0)
    weights = _shape(graph, node.inputs, 1)
    if form in (Form.CHANNELS_LAST, Form.ROWS):
        return _times(made, weights, weights[1:] if weights else ())
    if form is Form.DEPTHWISE_LAST:
        return _times(made, weights, weights[1:3] if weights else ())
    if form is Form.TRANSPOSED_LAST:
        return _times(_shape(graph, node.inputs, 2), weights, weights[:3] if weights else ())
    if node.op_type == "BATCH_MATMUL":
        left = _shape(graph, node.inputs, 0)
        return _times(made, left, (left[-2 if node.int("adj_x") else -1],) if left and len(left) > 1 else ())
    if node.op_type in ("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"):
        return _recurrent(graph, node)
    return 0


def _shape(graph: Graph, names: tuple[str, ...], place: int) -> tuple[Size, ...] | None:
    return graph.shape(names[place]) if place < len(names) and names[place] else None


def _times(elements: tuple[Size, ...] | None, needed: tuple[Size, ...] | None, each: tuple[Size, ...]) -> int | None:
    """Elements times the products of each; None where a shape that is needed is not known."""
    return None if elements is None or needed is None else product(*elements, *each)


def _recurrent(graph: Graph, node: Node) -> int | None:
    """Every step multiplies by all weights: those of features and of time, or of the gates."""
    data = _shape(graph, node.inputs, 0)
    places = (1, 2) if node.op_type == "SVDF" else GATES
    shapes = [_shape(graph, node.inputs, place) for place in places]
    if data is None or None in data:
        return None
    weights = sum(product(*shape) or 0 for shape in shapes if shape is not None)
    return prod(size or 0 for size in data[:-1]) * weights
