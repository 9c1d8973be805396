"""Where everything in a `.tflite` file lies: its tables, vectors and strings, and every offset between them."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.flatbuffer import FlatFile, Table, table_at
from onnxlint_cmsis.formats.tflite.schema import SCALARS, SCHEMA, UNIONS
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class FlatObject(NamedTuple):
    """One table without its vtable, one vtable, vector or string."""

    start: int
    """First byte."""
    end: int
    """Byte behind the last one."""
    references: tuple[int, ...] = ()
    """Where offsets in it stand."""
    vtable: int = -1
    """Where a table's vtable starts; -1 for other objects."""


class FlatLayout(NamedTuple):
    """All objects of a file that the schema leads to."""

    objects: dict[int, FlatObject]
    """Objects by where they start."""
    references: dict[int, int]
    """Where each offset stands, and the start of what it leads to; offsets to vtables are not among them."""
    frozen: int
    """Start of the first table with fields that the schema here does not name; the size of the file for none.

    What such a field leads to lies behind it, at a distance that only the field tells: nothing behind that point may be
    cut out or put in.
    """

    @property
    def end(self) -> int:
        """Byte behind the last object; what follows is no part of the flatbuffer."""
        return max(entry.end for entry in self.objects.values())


def flat_layout(file: FlatFile) -> FlatLayout:
    """The layout of a file. Raises ModelError where an offset leads out of it, or its vectors overlap too much."""
    walk = _Walk(file)
    walk.refer(0, "Model")
    while walk.pending:
        walk.visit(*walk.pending.pop())
    return FlatLayout(walk.objects, walk.references, walk.frozen)


class _Walk:
    """A walk through the file, from its root."""

    def __init__(self, file: FlatFile) -> None:
        self._file = file
        self.objects: dict[int, FlatObject] = {}
        self.references: dict[int, int] = {}
        self.frozen = file.size
        self.pending: list[tuple[str, int]] = []

    def refer(self, position: int, kind: str) -> None:
        """Follow the offset at a position to what the schema says is there."""
        target = self._file.follow(position)
        self.references[position] = target
        if target not in self.objects:
            self.pending.append((kind, target))

    def visit(self, kind: str, start: int) -> None:
        """Note an object, and follow its offsets."""
        if kind == "string" or kind.startswith("["):
            self._vector(kind, start)
        else:
            self._table(table_at(self._file, kind, start))

    def _vector(self, kind: str, start: int) -> None:
        inner = "ubyte" if kind == "string" else kind[1:-1]
        width = SCALARS[inner][1] if inner in SCALARS else 4
        first, count = self._file.vector(start, width)
        self._file.spend(count * width)
        end = first + count * width + (kind == "string")
        references = () if inner in SCALARS else tuple(range(first, end, width))
        self._add(FlatObject(start, end, references))
        for at in references:
            self.refer(at, inner)

    def _table(self, table: Table) -> None:
        offsets = tuple(_offsets(table))
        start, size = table.span
        self._add(FlatObject(start, start + size, tuple(at for at, _ in offsets), table.vtable.offset))
        self._add(FlatObject(table.vtable.offset, table.vtable.offset + table.vtable.length))
        named = SCHEMA.fields(table.kind).values()
        types = {field.slot - 1 for field in named if field.type in UNIONS}
        if table.slots() - types - {field.slot for field in named}:
            self.frozen = min(self.frozen, start)
        for at, kind in offsets:
            self.refer(at, kind)

    def _add(self, new: FlatObject) -> None:
        """Note an object; where one is noted that starts there, the two become one."""
        old = self.objects.get(new.start, new)
        references = tuple(dict.fromkeys((*old.references, *new.references)))
        self.objects[new.start] = FlatObject(
            new.start, max(old.end, new.end), references, new.vtable if old.vtable < 0 else old.vtable
        )


def _offsets(table: Table) -> Iterator[tuple[int, str]]:
    """Positions of a table's offsets, and the schema's kind of each target."""
    for name, field in table.fields.items():
        position = table.position(name)
        if position and field.type not in SCALARS:
            yield position, table.union(name) if field.type in UNIONS else field.type
