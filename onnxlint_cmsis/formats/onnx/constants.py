"""Values fixed in the file: initializers, Constant nodes, and what follows from them."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.onnx.decoding import tensor_values
from onnxlint_cmsis.formats.onnx.document import Document
from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.tensors import elem_name
from onnxlint_cmsis.formats.onnx.walk import subgraphs
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM
from onnxlint_cmsis.model.graph import MAX_VALUES, Constant
from onnxlint_cmsis.operators.answers import NotFollowed
from onnxlint_cmsis.operators.control import CONSTANT, CONSTANT_OF_SHAPE, SHAPE
from onnxlint_cmsis.operators.curve import IDENTITY
from onnxlint_cmsis.operators.folds import INT32, INT64, MAX_ELEMENTS, array_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto

    from onnxlint_cmsis.formats.onnx.known_types import Known, Table
    from onnxlint_cmsis.model.graph import Number


class LazyValues:
    """Reads values once, when they are first asked for."""

    __slots__ = ("known", "read")

    def __init__(self, read: Callable[[], tuple[Number, ...] | None]) -> None:
        self.read: Callable[[], tuple[Number, ...] | None] | None = read
        self.known: tuple[Number, ...] | None = None

    def __call__(self) -> tuple[Number, ...] | None:
        """The values, None where they cannot be read."""
        if self.read is not None:
            self.known = self.read()
            self.read = None
        return self.known


def from_tensor(document: Document, key: str, tensor: TensorProto, overridable: bool = False) -> Constant | None:
    """An initializer or a Constant node's value; None where its dims are no sizes."""
    shape = tuple(tensor.dims)
    if not sane(shape):
        return None
    return Constant(key, elem_name(tensor.data_type), shape, LazyValues(lambda: document.values(tensor)), overridable)


def from_sparse(document: Document, key: str, sparse: SparseTensorProto, overridable: bool = False) -> Constant | None:
    """A sparse tensor, dense when read; None where its dims are no sizes."""
    shape = tuple(sparse.dims)
    if not sane(shape):
        return None
    reader = LazyValues(lambda: _dense(document, sparse, shape))
    return Constant(key, elem_name(sparse.values.data_type), shape, reader, overridable, editable=False)


def from_node(
    document: Document, node: NodeProto, key: str, constants: dict[str, Constant], inputs: tuple[str, ...]
) -> Constant | None:
    """Value of a Constant, Identity or ConstantOfShape node; None where the file does not fix it."""
    operator = operator_of_proto(node)
    if operator is CONSTANT:
        return _constant_node(document, node, key)
    source = constants.get(inputs[0]) if inputs else None
    if source is None or (source.overridable and operator is not IDENTITY):
        return None
    if operator is IDENTITY:
        return Constant(key, source.elem_type, source.shape, source.read, source.overridable)
    return _constant_of_shape(document, node, key, source)


def sane(shape: tuple[int, ...]) -> bool:
    """Tell whether dims are sizes that can be believed, of no more axes than are followed."""
    return len(shape) <= MAX_AXES and all(0 <= size <= MAX_DIM for size in shape)


SINGLE_FORMS: dict[str, tuple[str, Callable[[AttributeProto], Number]]] = {
    "value_float": ("float32", lambda a: a.f),
    "value_int": ("int64", lambda a: a.i),
}
LIST_FORMS: dict[str, tuple[str, Callable[[AttributeProto], Sequence[Number]]]] = {
    "value_floats": ("float32", lambda a: a.floats),
    "value_ints": ("int64", lambda a: a.ints),
}
"""Attribute of a Constant node to element type and the way to its value; texts are never read."""


FORMS = {
    "value_float": 1, "value_int": 2, "value_string": 3, "value": 4, "value_floats": 6, "value_ints": 7,
    "value_strings": 8, "sparse_value": 11,
}  # fmt: skip
"""Attribute of a Constant node to its AttributeType (onnx.proto)."""


def _constant_node(document: Document, node: NodeProto, key: str) -> Constant | None:
    """A Constant node's value, in any of the forms its attribute may have."""
    alone = len(node.attribute) == 1
    # A runtime reads the field of the type, whatever the name says.
    stated = [row for row in node.attribute if row.type in (0, FORMS.get(row.name, row.type))]
    for attribute in stated if len(stated) == len(node.attribute) else ():
        if attribute.name == "value" and attribute.HasField("t"):
            constant = from_tensor(document, key, attribute.t)
            return constant and constant._replace(editable=alone)
        if attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
            return from_sparse(document, key, attribute.sparse_tensor)
        if attribute.name in SINGLE_FORMS:
            elem_type, read = SINGLE_FORMS[attribute.name]
            return _known(key, elem_type, (), (read(attribute),), editable=False)
        if attribute.name in LIST_FORMS:
            elem_type, read_all = LIST_FORMS[attribute.name]
            values = tuple(read_all(attribute))
            return _known(key, elem_type, (len(values),), values, editable=alone and bool(values))
        if attribute.name in ("value_string", "value_strings"):
            shape = () if attribute.name == "value_string" else (len(attribute.strings),)
            return _known(key, "string", shape, None, editable=False)
    return None


def _known(
    key: str, elem_type: str, shape: tuple[int, ...], values: tuple[Number, ...] | None, *, editable: bool
) -> Constant:
    return Constant(key, elem_type, shape, lambda: values, editable=editable)


def _constant_of_shape(document: Document, node: NodeProto, key: str, source: Constant) -> Constant | None:
    """One value everywhere, float32 zero unless the node gives another."""
    shape = source.integers()
    if shape is None or len(source.shape) != 1:
        return None
    value = next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)
    fill = (0.0,) if value is None else document.values(value)
    if not sane(shape) or fill is None or len(fill) != 1:
        return None
    elem_type = "float32" if value is None else elem_name(value.data_type)
    count = math.prod(shape)
    return Constant(key, elem_type, shape, lambda: fill * count if count <= MAX_VALUES else None)


def _dense(document: Document, sparse: SparseTensorProto, shape: tuple[int, ...]) -> tuple[Number, ...] | None:
    """Every value of a sparse tensor, zeros included; indices are linear, or one row of coordinates per value."""
    count = math.prod(shape)
    values, indices = document.values(sparse.values), document.values(sparse.indices)
    if count > MAX_VALUES or values is None or indices is None:
        return None
    offsets = [int(i) for i in indices]
    if len(sparse.indices.dims) == 2:
        rank = len(shape)
        rows = [offsets[i : i + rank] for i in range(0, len(offsets), rank)] if rank else []
        offsets = [_linear(row, shape) for row in rows]
    if len(offsets) != len(values) or not all(0 <= offset < count for offset in offsets):
        return None
    dense: list[Number] = [0] * count
    for offset, value in zip(offsets, values, strict=True):
        dense[offset] = value
    return tuple(dense)


def _linear(row: list[int], shape: tuple[int, ...]) -> int:
    """Row-major position of coordinates; -1 where they are outside."""
    offset = 0
    for index, size in zip(row, shape, strict=True):
        if not 0 <= index < size:
            return -1
        offset = offset * size + index
    return offset


# Shape arithmetic worked out: Shape, Gather, Concat and their like on small integer tensors.
#
# The results go into the copy of the model that shape inference sees, where they settle the targets of Reshape, Pad,
# Resize, Slice and others. What follows from constants alone becomes a constant of the graph as well. ONNX's own data
# propagation is not used: see `guards`.


if TYPE_CHECKING:
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
            _make_constant(node, value, known.get(node.output[0], (INT64, None))[0])
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
    dims = tuple(tensor.dims)
    if tensor.data_type not in (INT32, INT64) or not 0 <= math.prod(dims) <= MAX_ELEMENTS:
        return None
    numbers = tensor_values(tensor)
    return None if numbers is None else array_of(numbers, dims)


def _make_constant(node: NodeProto, value: Value, elem_type: int) -> None:
    from onnx import helper

    output, kind = node.output[0], INT32 if elem_type == INT32 else INT64
    tensor = helper.make_tensor(output, kind, value.shape, [int(v) for v in value.ravel()])
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
