"""Objects of sarif-om as JSON data; the library has classes but no serializer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PROPERTY_NAME = "schema_property_name"


_ALWAYS = frozenset({"level"})
"""Written though equal to the schema's default: readers differ in what they take the default to be."""


def to_json(value: Any) -> Any:
    """The value as dictionaries, lists and scalars under the names of the SARIF schema."""
    if hasattr(type(value), "__attrs_attrs__"):
        return {name: to_json(item) for name, item in _fields(value)}
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """(schema name, value) of what is set: None and the library's -1 are not, and defaults need not be written."""
    for field in type(value).__attrs_attrs__:
        item = getattr(value, field.name)
        name = field.metadata[_PROPERTY_NAME]
        if item is None or (item == field.default and name not in _ALWAYS):
            continue
        yield name, item
