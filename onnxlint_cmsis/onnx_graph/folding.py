"""Shape arithmetic worked out: Shape, Gather, Concat and their like on small integer tensors.

ONNX's own data propagation knows these operators only in their newer versions. The results go into the copy of the
model that shape inference sees, where they settle the targets of Reshape, Resize, Slice and others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.onnx_graph.functions import domain_of
from onnxlint_cmsis.onnx_graph.shapes import MAX_DIM
from onnxlint_cmsis.onnx_graph.values import tensor_values
from onnxlint_cmsis.onnx_graph.walk import subgraphs
from onnxlint_cmsis.types import Size

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.onnx_graph.inference import Table

INT32, INT64 = 6, 7
MAX_ELEMENTS = 64
"""Elements of the largest tensor that is worked out: more than any shape has."""

Value = tuple[tuple[int, ...], tuple[Size, ...]]
"""Shape (scalar or one axis) and elements of an integer tensor, None for an element that is not known."""
Values = dict[str, Value]
Fold = Callable[["NodeProto", "list[Value]"], "Value | None"]


def fold_shapes(graph: GraphProto, tables: Iterator[Table], outer: Values) -> bool:
    """Make a Constant of each node that yields known sizes, in place; True where any did.

    `tables` are what is known of the graph and those inside it, in the order of `all_graphs`.
    """
    table = next(tables)
    values = outer | {t.name: v for t in graph.initializer if (v := _tensor(t)) is not None}
    changed = False
    for node in graph.node:
        for _, inner in subgraphs(node):
            changed |= fold_shapes(inner, tables, values)
        if domain_of(node.domain) or len(node.output) != 1:
            continue
        value = _evaluate(node, values, table)
        if value is None or len(value[1]) > MAX_ELEMENTS:
            continue
        values[node.output[0]] = value
        if node.op_type != "Constant" and None not in value[1]:
            changed = True
            _make_constant(node, value)
    return changed


def _evaluate(node: NodeProto, values: Values, table: Table) -> Value | None:
    """What a node yields, as far as it is known."""
    if node.op_type == "Constant":
        return next((_tensor(a.t) for a in node.attribute if a.name == "value"), None)
    if node.op_type == "Shape":
        shape = table.get(node.input[0], (0, None))[1] if node.input else None
        start, end = _int(node, "start"), _int(node, "end")
        return None if shape is None else _vector(shape[slice(start, end)])
    fold = FOLDS.get(node.op_type)
    known = [values[name] for name in node.input if name in values]
    if fold is None or len(known) != len(node.input) or len(known) not in ARITY.get(node.op_type, ANY):
        return None
    return fold(node, known)


def _make_constant(node: NodeProto, value: Value) -> None:
    from onnx import helper

    output = node.output[0]
    known = [size for size in value[1] if size is not None]
    tensor = helper.make_tensor(output, INT64, value[0], known)
    node.CopyFrom(helper.make_node("Constant", [], [output], value=tensor))


def _tensor(tensor: TensorProto) -> Value | None:
    """A small integer tensor of at most one axis."""
    if tensor.data_type not in (INT32, INT64) or len(tensor.dims) > 1 or math.prod(tensor.dims) > MAX_ELEMENTS:
        return None
    numbers = tensor_values(tensor)
    return None if numbers is None else (tuple(tensor.dims), tuple(int(n) for n in numbers))


def _vector(elements: tuple[Size, ...]) -> Value:
    return (len(elements),), elements


def _int(node: NodeProto, name: str) -> int | None:
    return next((int(a.i) for a in node.attribute if a.name == name), None)


def _same(node: NodeProto, inputs: list[Value]) -> Value | None:
    """Identity, and Cast between integers."""
    if node.op_type == "Cast" and _int(node, "to") not in (INT32, INT64):
        return None
    return inputs[0]


def _gather(node: NodeProto, inputs: list[Value]) -> Value | None:
    (shape, data), (index_shape, indices) = inputs
    if len(shape) != 1 or (_int(node, "axis") or 0) not in (0, -1):
        return None
    if any(i is None or not -len(data) <= i < len(data) for i in indices):
        return None
    return index_shape, tuple(data[i] for i in indices if i is not None)


def _concat(_node: NodeProto, inputs: list[Value]) -> Value | None:
    if any(len(shape) != 1 for shape, _ in inputs):
        return None
    return _vector(tuple(element for _, elements in inputs for element in elements))


def _axis_zero(node: NodeProto, inputs: list[Value]) -> bool:
    """Whether the axes, an attribute or the second input, are axis 0 alone."""
    given = next((tuple(a.ints) for a in node.attribute if a.name == "axes"), None)
    axes = inputs[1][1] if len(inputs) > 1 else given
    return (axes is None and node.op_type == "Squeeze") or axes in ((0,), (-1,))


def _unsqueeze(node: NodeProto, inputs: list[Value]) -> Value | None:
    return _vector(inputs[0][1]) if inputs[0][0] == () and _axis_zero(node, inputs) else None


def _squeeze(node: NodeProto, inputs: list[Value]) -> Value | None:
    return ((), inputs[0][1]) if inputs[0][0] == (1,) and _axis_zero(node, inputs) else None


def _slice(node: NodeProto, inputs: list[Value]) -> Value | None:
    """Slice of one axis, its limits as attributes (opset 1) or inputs."""
    if len(inputs[0][0]) != 1:
        return None
    attributes = {a.name: tuple(a.ints) for a in node.attribute}
    stated = [attributes[name] for name in ("starts", "ends", "axes") if name in attributes]
    limits = [elements[0] if len(elements) == 1 else None for elements in [v[1] for v in inputs[1:]] or stated]
    if len(limits) not in (2, 3, 4) or None in limits:
        return None
    start, end = limits[0], limits[1]
    axis = limits[2] if len(limits) > 2 else 0
    step = limits[3] if len(limits) > 3 else 1
    return _vector(inputs[0][1][start:end:step]) if axis in (0, -1) and step else None


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a // b,
}


def _sane(value: int) -> Size:
    """A result that no overflow can have changed."""
    return value if abs(value) <= MAX_DIM else None


def _arithmetic(node: NodeProto, inputs: list[Value]) -> Value | None:
    """Element-wise on equal lengths or with one element; division only where rounding is no question."""
    (shape, first), (other_shape, second) = inputs
    size = max(len(first), len(second))
    if {len(first), len(second)} - {1, size}:
        return None
    pairs = zip(first * size if len(first) == 1 else first, second * size if len(second) == 1 else second, strict=True)
    operate = ARITHMETIC[node.op_type]
    divides = node.op_type == "Div"
    elements = tuple(
        None if a is None or b is None or (divides and (a < 0 or b <= 0)) else _sane(operate(a, b)) for a, b in pairs
    )
    return (() if shape == other_shape == () else (size,)), elements


FOLDS: dict[str, Fold] = {
    "Identity": _same,
    "Cast": _same,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Add": _arithmetic,
    "Sub": _arithmetic,
    "Mul": _arithmetic,
    "Div": _arithmetic,
}
"""Operators that are worked out."""
ANY = range(1, MAX_ELEMENTS)
ARITY = {"Identity": (1,), "Cast": (1,), "Gather": (2,), **dict.fromkeys(ARITHMETIC, (2,))}
"""How many inputs an operator must have to be worked out; a Slice may have up to five."""
