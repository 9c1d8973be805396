"""Shape arithmetic worked out: Shape, Gather, Concat and their like on small integer tensors.

The results go into the copy of the model that shape inference sees, where they settle the targets of Reshape, Pad,
Resize, Slice and others. What follows from constants alone becomes a constant of the graph as well. ONNX's own data
propagation is not used: see `guards`.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.onnx_graph.functions import domain_of
from onnxlint_cmsis.formats.onnx_graph.input_shapes import MAX_DIM
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import subgraphs
from onnxlint_cmsis.formats.onnx_graph.values import tensor_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from onnx import GraphProto, NodeProto, TensorProto

    from onnxlint_cmsis.formats.onnx_graph.known_shapes import Known, Table
    from onnxlint_cmsis.graph.model import Constant

    Value = npt.NDArray[np.object_]
    """Python integers, None for an element that is not known."""

INT32, INT64 = 6, 7
INTEGERS = ("int32", "int64")
"""Names of the element types that are worked out."""
MAX_ELEMENTS = 256
"""Elements of the largest tensor that is worked out; the pads of eight axes are 16."""


def fold_shapes(
    graph: GraphProto,
    tables: Iterator[Table],
    outer: Mapping[str, Value] | None = None,
    outer_known: Mapping[str, Known] | None = None,
) -> bool:
    """Make a Constant of each node that yields known integers, in place; True where any did.

    `tables` are what is known of the graph and those inside it, in the order of `all_graphs`.
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
        if value is not None and node.op_type != "Constant" and None not in value.ravel().tolist():
            changed = True
            _make_constant(node, value)
    return changed


def fold_node(node: NodeProto, inputs: Sequence[Constant | None]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shape and values of what a node makes of small integer constants alone; None where it is not worked out.

    None stands for an input that is left out.
    """
    if node.op_type not in FOLDS or domain_of(node.domain) or len(node.output) != 1:
        return None
    if any(c and (c.elem_type not in INTEGERS or c.overridable or math.prod(c.shape) > MAX_ELEMENTS) for c in inputs):
        return None
    values: dict[str, Value] = {}
    for name, constant in zip(node.input, inputs, strict=False):  # a damaged node has fewer names than it needs inputs
        numbers = constant.values() if constant else None
        if constant and numbers is None:
            return None
        if constant:
            values[name] = _array(numbers, constant.shape)
    result = _evaluate(node, values, {})
    if result is None or result.size > MAX_ELEMENTS or None in result.ravel().tolist():
        return None
    return tuple(result.shape), tuple(int(number) for number in result.ravel())


def _keep(values: MutableMapping[str, Value], name: str, value: Value | None) -> None:
    if value is not None and value.size <= MAX_ELEMENTS:
        values[name] = value


def _array(elements: Any, shape: tuple[int, ...]) -> Value:
    import numpy as np

    array = np.empty(math.prod(shape), object)
    array[:] = elements
    return array.reshape(shape)


def _tensor(tensor: TensorProto) -> Value | None:
    """A small integer tensor."""
    dims = tuple(tensor.dims)
    if tensor.data_type not in (INT32, INT64) or not 0 <= math.prod(dims) <= MAX_ELEMENTS:
        return None
    numbers = tensor_values(tensor)
    return None if numbers is None else _array(numbers, dims)


def _make_constant(node: NodeProto, value: Value) -> None:
    from onnx import helper

    output = node.output[0]
    tensor = helper.make_tensor(output, INT64, value.shape, [int(v) for v in value.ravel()])
    node.CopyFrom(helper.make_node("Constant", [], [output], value=tensor))


def _evaluate(node: NodeProto, values: Mapping[str, Value], known: Mapping[str, Known]) -> Value | None:
    """What a node yields, as far as it is known."""
    attributes: dict[str, Any] = {a.name: list(a.ints) if a.ints else a.i for a in node.attribute}
    if node.op_type in ("Constant", "ConstantOfShape"):
        tensor = next((a.t for a in node.attribute if a.name == "value"), None)
        attributes["value"] = None if tensor is None else _tensor(tensor)
    if node.op_type == "Constant":
        return attributes["value"]  # type: ignore[no-any-return]
    if node.op_type == "Shape":
        shape = known.get(node.input[0], (0, None))[1] if node.input else None
        sizes = None if shape is None else shape[slice(attributes.get("start"), attributes.get("end"))]
        return None if sizes is None else _array(sizes, (len(sizes),))
    if node.op_type not in FOLDS or any(name and name not in values for name in node.input):
        return None
    try:
        result = FOLDS[node.op_type](attributes, *(values[name] if name else None for name in node.input))
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError, MemoryError):
        return None  # elements that are not known where they count, operands that do not fit or are left out
    return _array(result, ()) if isinstance(result, int) else result


def _cast(attributes: dict[str, Any], x: Value) -> Value | None:
    return x if attributes["to"] in (INT32, INT64) else None


def _gather(attributes: dict[str, Any], x: Value, indices: Value) -> Value:
    import numpy as np

    taken: Value = np.take(x, indices.astype(np.int64), axis=attributes.get("axis", 0))
    return taken


def _concat(attributes: dict[str, Any], *parts: Value) -> Value:
    import numpy as np

    return np.concatenate(parts, axis=attributes["axis"])


def _axes(attributes: dict[str, Any], axes: Value | None) -> tuple[int, ...]:
    return tuple(int(a) for a in (attributes["axes"] if axes is None else axes.tolist()))


def _unsqueeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    import numpy as np

    return np.expand_dims(x, _axes(attributes, axes))


def _squeeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    return x.squeeze(None if axes is None and "axes" not in attributes else _axes(attributes, axes))


def _slice(attributes: dict[str, Any], x: Value, *limits: Value | None) -> Value:
    """Limits as attributes (opset 1) or as inputs: starts, ends, axes, steps."""
    given = [None if v is None else v.tolist() for v in limits] or [attributes["starts"], attributes["ends"]]
    starts, ends = given[0] or [], given[1] or []
    axes = (given[2] if len(given) > 2 else attributes.get("axes")) or range(len(starts))
    steps = (given[3] if len(given) > 3 else None) or [1] * len(starts)
    window = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        low = end if step > 0 or end > -x.shape[axis] - 1 else None
        window[axis] = slice(int(start), low, int(step))
    return x[tuple(window)]


def _reshape(attributes: dict[str, Any], x: Value, target: Value) -> Value:
    copies = not attributes.get("allowzero")
    sizes = [x.shape[i] if size == 0 and copies else size for i, size in enumerate(target.tolist())]
    return x.reshape(sizes)


def _transpose(attributes: dict[str, Any], x: Value) -> Value:
    turned: Value = x.transpose(attributes.get("perm"))
    return turned


def _constant_of_shape(attributes: dict[str, Any], shape: Value) -> Value | None:
    """Only of integers; float is what a node without a value makes."""
    fill, sizes = attributes["value"], tuple(int(size) for size in shape)
    small = all(size >= 0 for size in sizes) and math.prod(sizes) <= MAX_ELEMENTS
    return None if fill is None or not small else _array(fill.item(), sizes)


def _arithmetic(operate: Callable[[int, int], int | None]) -> Callable[..., Value]:
    def one(a: int | None, b: int | None) -> int | None:
        result = None if a is None or b is None else operate(a, b)
        return result if result is not None and abs(result) <= MAX_DIM else None

    def fold(_attributes: dict[str, Any], x: Value, y: Value) -> Value:
        import numpy as np

        result: Value = np.asarray(np.frompyfunc(one, 2, 1)(x, y), object)
        return result

    return fold


FOLDS: dict[str, Callable[..., Value | None]] = {
    "Identity": lambda _, x: x,
    "Cast": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "ConstantOfShape": _constant_of_shape,
    "Add": _arithmetic(lambda a, b: a + b),
    "Sub": _arithmetic(lambda a, b: a - b),
    "Mul": _arithmetic(lambda a, b: a * b),
    "Div": _arithmetic(lambda a, b: a // b if a >= 0 and b > 0 else None),
}
"""Operators that are worked out, division only where rounding is no question."""
