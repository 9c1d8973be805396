"""What a flatbuffer means: the tables of a schema and their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import shorten

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

NUMBERS: dict[str, tuple[str, int]] = {
    "bool": ("?", 1),
    "byte": ("b", 1),
    "ubyte": ("B", 1),
    "ushort": ("H", 2),
    "int": ("i", 4),
    "uint": ("I", 4),
    "long": ("q", 8),
    "ulong": ("Q", 8),
    "float": ("f", 4),
    "double": ("d", 8),
}
"""Letter of `struct` and bytes of each type that is a number in every schema."""


class Field(NamedTuple):
    """One field of a table."""

    slot: int
    """Position in the vtable; a union's type stands in the slot before its table."""
    type: str
    """Type as the schema writes it: `int`, `[long]`, `string`, an enumeration, a table, a union."""
    default: float
    """Value of a number that the file leaves out."""


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """The tables of one kind of file.

    A field reads `name:type` or `name:type=default`; the default is 0, false or nothing otherwise. A union takes two
    slots, its type and its table. Fields that a schema calls deprecated keep their slots.
    """

    title: str
    """What messages call a file: `a TensorFlow Lite model`."""
    identifier: bytes
    """Bytes 4 to 7 of every file."""
    root_type: str
    """The table that a file begins with."""
    tables: Mapping[str, str]
    """Fields of each table that is read; tables without a field may be left out."""
    enums: Mapping[str, tuple[str, ...]]
    """Enumerations that tables use, each name at its number."""
    unions: Mapping[str, tuple[str, ...]]
    """Tables that a union may hold, each at the number that its type field holds; NONE is 0."""
    scalars: Mapping[str, tuple[str, int]]
    """Letter of `struct` and bytes of each type that is a number; enumerations are numbers."""

    def fields(self, table: str) -> dict[str, Field]:
        """Fields of a table by name; none for a table without fields."""
        return fields_of(self, table)

    def damaged(self, what: str) -> ModelError:
        """The error for a file that starts as it should and cannot be read."""
        return ModelError("not-a-model", f"not a readable {self.title.partition(' ')[2]}: {shorten(what, 300)}")

    def check_indices(self, where: str, what: str, indices: Iterable[int], count: int) -> None:
        """Raise ModelError for an index that is not below a count."""
        for index in indices:
            if not 0 <= index < count:
                raise self.damaged(f"{where} names {what} {index}; the file has {count}, counted from 0")


@cache
def fields_of(schema: Schema, table: str) -> dict[str, Field]:
    """Fields of a table of a schema by name; none for a table without fields."""
    named: dict[str, Field] = {}
    slot = 0
    for text in schema.tables.get(table, "").split():
        name, _, rest = text.partition(":")
        kind, _, default = rest.partition("=")
        slot += kind in schema.unions
        named[name] = Field(slot, kind, float(default or 0))
        slot += 1
    return named
