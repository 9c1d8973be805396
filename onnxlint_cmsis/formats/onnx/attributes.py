"""Attributes of a node as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto

    from onnxlint_cmsis.model.graph import Attribute


PLAIN: dict[int, Callable[[AttributeProto], Attribute]] = {
    1: lambda a: a.f,
    2: lambda a: a.i,
    3: lambda a: decoded(a.s),
    6: lambda a: tuple(a.floats),
    7: lambda a: tuple(a.ints),
    8: lambda a: tuple([s.decode("utf-8", "replace") for s in a.strings]),
}
"""AttributeProto.AttributeType to value; tensors, graphs and types are kept elsewhere."""


FIELDS = {"f": 1, "i": 2, "s": 3}


LISTS = {"floats": 6, "ints": 7, "strings": 8}


def plain(attributes: Iterable[AttributeProto]) -> dict[str, Attribute]:
    """Plain values by attribute name."""
    values: dict[str, Attribute] = {}
    for attribute in attributes:
        read = PLAIN.get(attribute.type or _type(attribute))
        if read is not None:
            values[attribute.name] = read(attribute)
    return values


def keeps(attribute: AttributeProto) -> bool:
    """Tell whether `plain` has all that an attribute says."""
    known = (attribute.type or _type(attribute)) in PLAIN and not attribute.ref_attr_name
    return known and all(isinstance(decoded(text), str) for text in attribute.strings)


def decoded(value: bytes) -> str | bytes:
    """Text where the bytes are UTF-8, else the bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _type(attribute: AttributeProto) -> int:
    """Type of an attribute that does not state it, as IR 1 allowed."""
    for name, number in FIELDS.items():
        if attribute.HasField(name):
            return number
    return next((number for name, number in LISTS.items() if getattr(attribute, name)), 0)


def int_attribute(node: NodeProto, name: str, default: int = 0) -> int:
    """Return an integer of a node that is still a message."""
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def ints_attribute(node: NodeProto, name: str) -> list[int]:
    """A list-of-ints attribute, or a single int as a list of one."""
    return next((list(a.ints) or ([a.i] if a.HasField("i") else []) for a in node.attribute if a.name == name), [])
