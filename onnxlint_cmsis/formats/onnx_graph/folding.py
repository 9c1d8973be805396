"""Shape arithmetic worked out: Shape, Gather, Concat and their like on small integer tensors.

The results go into the copy of the model that shape inference sees, where they settle the targets of Reshape, Pad,
Resize, Slice and others. What follows from constants alone becomes a constant of the graph as well. ONNX's own data
propagation is not used: see `guards`.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.onnx_graph.functions import domain_of
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import subgraphs
from onnxlint_cmsis.formats.onnx_graph.values import tensor_values
from onnxlint_cmsis.operators.control_operators import CONSTANT, CONSTANT_OF_SHAPE, SHAPE
from onnxlint_cmsis.operators.facets import NotFollowed
from onnxlint_cmsis.operators.integer_folds import INT32, INT64, MAX_ELEMENTS, array_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from onnx import GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.formats.onnx_graph.known_shapes import Known, Table
    from onnxlint_cmsis.graph.model import Constant

    Value = npt.NDArray[np.object_]
    """Python integers, None for an element that is not known."""

INTEGERS = ("int32", "int64")
"""Names of the element types that are worked out."""


def fold_shapes(
    graph: GraphProto,
    tables: Iterator[Table],
    outer: Mapping[str, Value] | None = None,
    outer_known: Mapping[str, Known] | None = None,
) -> bool:
    """Make a Constant of each node that yields known integers, in place; True where any did.

    `tables` hold the known values of the graph and its subgraphs, in the order of `all_graphs`.
    """
    known: Mapping[str, Known] = ChainMap(next(tables), dict(outer_known or {}))
    values: MutableMapping[str, Value] = ChainMap({}, dict(outer or {}))
    for tensor in graph.initializer:
        _keep(values, tensor.name, _tensor(tensor))
    changed = False
    for node in graph.node:
        for _, inner in subgraphs(node):
            changed |= fold_shapes(inner, tables, values, known)
        if domain_of(node.domain) or len(node.output) != 1:
            continue
        value = _evaluate(node, values, known)
        _keep(values, node.output[0], value)
        if value is not None and operator_of_proto(node) is not CONSTANT and None not in value.ravel().tolist():
            changed = True
            _make_constant(node, value)
    return changed


def fold_node(node: NodeProto, inputs: Sequence[Constant | None]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shape and values of what a node makes of small integer constants alone; None where it is not worked out.

    None stands for an input that is left out.
    """
    if isinstance(operator_of_proto(node).fold, NotFollowed) or len(node.output) != 1:
        return None
    if any(c and (c.elem_type not in INTEGERS or c.overridable or math.prod(c.shape) > MAX_ELEMENTS) for c in inputs):
        return None
    values: dict[str, Value] = {}
    for name, constant in zip(node.input, inputs, strict=False):  # a damaged node has fewer names than it needs inputs
        if not constant:
            continue
        numbers = constant.values()
        value = None if numbers is None else array_of(numbers, constant.shape)
        if value is None:
            return None
        values[name] = value
    result = _evaluate(node, values, {})
    if result is None or result.size > MAX_ELEMENTS or None in result.ravel().tolist():
        return None
    return tuple(result.shape), tuple(int(number) for number in result.ravel())


def _keep(values: MutableMapping[str, Value], name: str, value: Value | None) -> None:
    if value is not None and value.size <= MAX_ELEMENTS:
        values[name] = value


def _tensor(tensor: TensorProto) -> Value | None:
    """A small integer tensor."""
    dims = tuple(tensor.dims)
    if tensor.data_type not in (INT32, INT64) or not 0 <= math.prod(dims) <= MAX_ELEMENTS:
        return None
    numbers = tensor_values(tensor)
    return None if numbers is None else array_of(numbers, dims)


def _make_constant(node: NodeProto, value: Value) -> None:
    from onnx import helper

    output = node.output[0]
    tensor = helper.make_tensor(output, INT64, value.shape, [int(v) for v in value.ravel()])
    node.CopyFrom(helper.make_node(CONSTANT.name, [], [output], value=tensor))


def _evaluate(node: NodeProto, values: Mapping[str, Value], known: Mapping[str, Known]) -> Value | None:
    """What a node yields, as far as it is known."""
    attributes: dict[str, Any] = {a.name: list(a.ints) if a.ints else a.i for a in node.attribute}
    operator = operator_of_proto(node)
    if operator in (CONSTANT, CONSTANT_OF_SHAPE):
        tensor = next((a.t for a in node.attribute if a.name == "value"), None)
        attributes["value"] = None if tensor is None else _tensor(tensor)
    if operator is CONSTANT:
        return attributes["value"]  # type: ignore[no-any-return]
    if operator is SHAPE:
        shape = known.get(node.input[0], (0, None))[1] if node.input else None
        sizes = None if shape is None else shape[slice(attributes.get("start"), attributes.get("end"))]
        return None if sizes is None else array_of(sizes, (len(sizes),))
    if isinstance(operator.fold, NotFollowed) or any(name and name not in values for name in node.input):
        return None
    try:
        result = operator.fold(attributes, *(values[name] if name else None for name in node.input))
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError, MemoryError):
        return None  # elements that are not known where they count, operands that do not fit or are left out
    return array_of(result, ()) if isinstance(result, int) else result
