"""Values fixed in the file: initializers, Constant nodes, and what follows from them without arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.document import Document
from onnxlint_cmsis.formats.onnx_graph.elem_types import elem_name
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.graph.model import MAX_VALUES, Constant
from onnxlint_cmsis.operators.control_operators import CONSTANT
from onnxlint_cmsis.operators.curve_operators import IDENTITY
from onnxlint_cmsis.types import MAX_AXES, MAX_DIM

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto, SparseTensorProto, TensorProto

    from onnxlint_cmsis.graph.model import Number


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
    """Whether dims are sizes that can be believed, of no more axes than are followed."""
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


def _constant_node(document: Document, node: NodeProto, key: str) -> Constant | None:
    """A Constant node's value, in any of the forms its attribute may have."""
    alone = len(node.attribute) == 1
    for attribute in node.attribute:
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
    sizes = source.values()
    if sizes is None or len(source.shape) != 1:
        return None
    shape = tuple(int(size) for size in sizes)
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
    places = [int(i) for i in indices]
    if len(sparse.indices.dims) == 2:
        rank = len(shape)
        rows = [places[i : i + rank] for i in range(0, len(places), rank)] if rank else []
        places = [_linear(row, shape) for row in rows]
    if len(places) != len(values) or not all(0 <= place < count for place in places):
        return None
    dense: list[Number] = [0] * count
    for place, value in zip(places, values, strict=True):
        dense[place] = value
    return tuple(dense)


def _linear(row: list[int], shape: tuple[int, ...]) -> int:
    """Row-major position of coordinates; -1 where they are outside."""
    place = 0
    for index, size in zip(row, shape, strict=True):
        if not 0 <= index < size:
            return -1
        place = place * size + index
    return place
