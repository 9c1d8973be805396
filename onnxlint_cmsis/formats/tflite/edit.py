"""Changes of a `.tflite` file: new tables, vectors and buffers in the bytes as they are."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from onnxlint_cmsis.formats.flatbuffer import FlatFile, Table, Value, table_at
from onnxlint_cmsis.formats.tflite.file_model import (
    OperatorPlace,
    TensorPlace,
    TfliteOperator,
    TfliteTensor,
    read_tflite,
)
from onnxlint_cmsis.formats.tflite.schema import ENUMS, SCALARS, SCHEMA, UNIONS
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import ModelError, StoredQuantization

# New tables and vectors of a flatbuffer, as bytes with the places of their offsets.


ALIGNED = 16
"""Bytes that the data of buffers are aligned to; everything new is."""


class Address(int):
    """Where an object is: a byte of the old file, or a number beyond it for a new one."""


class Blob(NamedTuple):
    """One new table with its vtable, vector or string."""

    data: bytes
    """Bytes, offsets to other objects 0."""
    references: tuple[tuple[int, Address], ...] = ()
    """Byte of each offset, and what it leads to."""
    start: int = 0
    """Byte at which other objects find it: behind a table's vtable."""
    aligned: int = 0
    """Byte that has to lie at a multiple of `ALIGNED`: the first element of a vector."""


def table(kind: str, values: Mapping[str, float | bool | str | Address]) -> Blob:
    """A table without unions, by the schema's names: numbers, names of enumerations, addresses."""
    entries = sorted(_entries(kind, values), key=lambda entry: -entry.width)
    length = 4 + 2 * (1 + max((entry.slot for entry in entries), default=-1))
    start = -(-length // 8) * 8
    vtable, body, references = bytearray(start), bytearray(4), []
    for entry in entries:
        body += bytes(-len(body) % entry.width)
        struct.pack_into("<H", vtable, 4 + 2 * entry.slot, len(body))
        if entry.address is not None:
            references.append((start + len(body), entry.address))
        body += struct.pack("<" + entry.letter, entry.number)
    struct.pack_into("<HH", vtable, 0, length, len(body))
    struct.pack_into("<i", body, 0, start)
    return Blob(bytes(vtable + body), tuple(references), start)


class _Entry(NamedTuple):
    """One field of a table."""

    slot: int
    letter: str
    width: int
    number: float
    address: Address | None = None


def _entries(kind: str, values: Mapping[str, float | bool | str | Address]) -> list[_Entry]:
    entries = []
    for name, value in values.items():
        field = SCHEMA.fields(kind)[name]
        if isinstance(value, Address):
            entries.append(_Entry(field.slot, "I", 4, 0, value))
        else:
            entries.append(_Entry(field.slot, *SCALARS[field.type], number(field.type, value)))
    return entries


def number(kind: str, value: float | bool | str) -> float:
    """The number of an enumeration's value, or the value itself."""
    return ENUMS[kind].index(value) if isinstance(value, str) else value


def packed(kind: str, value: float | bool | str) -> bytes:
    """Bytes of a number of a schema's type."""
    return struct.pack("<" + SCALARS[kind][0], number(kind, value))


def scalars(kind: str, values: Sequence[float] | bytes) -> Blob:
    """A vector of numbers of a schema's type, or of bytes."""
    letter, width = SCALARS[kind]
    data = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{letter}", *values)
    return Blob(struct.pack("<I", len(data) // width) + data, aligned=4)


def text(value: str) -> Blob:
    """A string."""
    raw = value.encode()
    return Blob(struct.pack("<I", len(raw)) + raw + b"\0")


def addresses(targets: Sequence[Address]) -> Blob:
    """A vector of offsets."""
    references = tuple((4 + 4 * index, target) for index, target in enumerate(targets))
    return Blob(struct.pack("<I", len(targets)) + bytes(4 * len(targets)), references)


# Runs of bytes put together to a file, and the way from an address to the byte that it became.


class Piece(NamedTuple):
    """A run of bytes of the new file."""

    address: int
    """Address of its first byte."""
    data: bytes
    """Bytes."""
    aligned: int = -1
    """Byte of it that has to lie at a multiple of `ALIGNED`; -1 where it follows the piece before at once."""


class Places:
    """Where addresses lie in the new file."""

    def __init__(self, starts: Iterable[tuple[int, int]]) -> None:
        """Address and byte of each piece."""
        self._starts = sorted(starts)
        self._addresses = [address for address, _ in self._starts]

    def of(self, address: int) -> int:
        """The byte at an address."""
        start, byte = self._starts[bisect_right(self._addresses, address) - 1]
        return byte + address - start


def laid(pieces: Iterable[Piece]) -> tuple[bytearray, Places]:
    """The bytes of all pieces, one behind the other, and where they lie."""
    data, starts = bytearray(), []
    for piece in pieces:
        if piece.aligned >= 0:
            data += bytes(-(len(data) + piece.aligned) % ALIGNED)
        starts.append((piece.address, len(data)))
        data += piece.data
    return data, Places(starts)


def dead_runs(
    data: bytes, objects: Iterable[tuple[int, int]], kept: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Runs that belonged to `objects` and to none that are `kept`, with the filling behind each of them."""
    owned, dead = np.zeros(len(data) + 1, bool), np.zeros(len(data) + 1, bool)
    for start, end in objects:
        owned[start:end] = dead[start:end] = True
    for start, end in kept:
        dead[start:end] = False
    for start, end in _runs(~owned[:-1]):
        filling = end - start < ALIGNED and not any(data[start:end])
        dead[start:end] = filling and start > 0 and dead[start - 1]
    yield from _runs(dead[:-1])


def _runs(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[tuple[int, int]]:
    """Where runs of True start and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


# Where everything in a `.tflite` file lies: its tables, vectors and strings, and every offset between them.


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


# A ZIP archive behind a flatbuffer, as TensorFlow Lite's metadata tools append one with labels and vocabularies.
#
# Its directory gives the places of its files counted from the first byte of the whole file, so they move with it.


END = b"PK\x05\x06"
"""Start of the record that ends an archive."""
ENTRY = b"PK\x01\x02"
"""Start of each entry of its directory."""


def is_zip(data: bytes) -> bool:
    """Whether the bytes behind a flatbuffer hold an archive."""
    return END in data


def moved_zip(data: bytes, before: int, moved: int) -> bytes:
    """An archive that starts `moved` bytes later than behind `before` bytes, with its offsets counted anew.

    One whose offsets are counted from its own start is left as it is.
    """
    archive = bytearray(data)
    end = data.rfind(END)
    size, offset = struct.unpack_from("<II", data, end + 12)
    at = end - size
    if offset != before + at or at < 0:
        return data
    struct.pack_into("<I", archive, end + 16, offset + moved)
    while archive[at : at + 4] == ENTRY:
        name, extra, comment = struct.unpack_from("<HHH", archive, at + 28)
        stored = struct.unpack_from("<I", archive, at + 42)[0]
        struct.pack_into("<I", archive, at + 42, stored + moved)
        at += 46 + name + extra + comment
    return bytes(archive)


# A changed copy of a `.tflite` file: bytes written over, new objects put in, what nothing leads to any more cut out.
#
# All other bytes stay in their order, so what the schema here does not name stays as well; only offsets between what
# moved are counted anew. Cuts and insertions are multiples of `ALIGNED` bytes, so nothing loses its alignment.


NEW = 1 << 40
"""First address of new objects; no file is as large."""
UNNAMED = "the file has fields that are not known here, and there is no room before them"


class FlatEdit:
    """A file in the making. Addresses of the old file's objects stay what they are until `data`."""

    def __init__(self, data: bytes) -> None:
        """Raises ModelError where an offset leads out of the file."""
        self.old = data
        self.layout = flat_layout(SCHEMA.root(data).file)
        self._bytes = bytearray(data)
        self._ends = {start: entry.end for start, entry in self.layout.objects.items()}
        self._targets: dict[int, int] = dict(self.layout.references)
        self._uses = Counter(self._targets.values())
        self._instead: dict[int, tuple[int, Blob]] = {}
        self._new: dict[int, Blob] = {}
        self._next = NEW

    def shared(self, start: int) -> bool:
        """Whether more than one offset of the old file leads to an object."""
        return self._uses[start] > 1

    def overwrite(self, position: int, data: bytes) -> None:
        """Replace bytes of the old file by as many others."""
        self._bytes[position : position + len(data)] = data

    def retarget(self, position: int, target: int) -> None:
        """Make the offset at a place of the old file lead to another object behind it."""
        self._targets[position] = target

    def append(self, blob: Blob) -> Address:
        """Put a new object behind all old objects and before earlier new ones; it may refer to those."""
        base = self._room(blob)
        self._new[base] = blob
        return Address(base + blob.start)

    def write_vector(self, position: int, blob: Blob) -> None:
        """Replace the vector of numbers that an offset leads to: where it is if the new one fits, else at the end."""
        start = self._targets[position]
        if start >= NEW or self.shared(start) or len(blob.data) > self._ends[start] - start:
            self.retarget(position, self.append(blob))
        else:
            self.overwrite(start, blob.data)
            self._ends[start] = start + len(blob.data)

    def write_addresses(self, position: int, targets: Sequence[Address]) -> None:
        """Replace the vector of offsets that the offset at a place leads to; it stays before all its elements.

        Raises NotAppliedError behind fields that the schema does not name.
        """
        start = self.layout.references[position]
        if list(targets) == [self._targets[reference] for reference in self.layout.objects[start].references]:
            return
        if start > self.layout.frozen or self.shared(start):
            raise NotAppliedError(UNNAMED)
        blob = addresses(targets)
        base = self._room(blob)
        self._instead[start] = base, blob
        self.retarget(position, base)

    def data(self) -> bytes:
        """The new file. Raises NotAppliedError."""
        live = self._live()
        written, places = laid(self._pieces(live))
        for position, target in self._references(live):
            at, to = places.of(position), places.of(target)
            if to <= at:
                raise NotAppliedError("an object would lie before the offset that leads to it")
            struct.pack_into("<I", written, at, to - at)
        for start in live:
            vtable = self.layout.objects[start].vtable
            if vtable >= 0:
                struct.pack_into("<i", written, places.of(start), places.of(start) - places.of(vtable))
        rest = self.old[self._end :]
        return bytes(written) + (moved_zip(rest, self._end, len(written) - self._end) if is_zip(rest) else rest)

    def _room(self, blob: Blob) -> int:
        """Addresses for a new object."""
        base = self._next
        self._next += len(blob.data) + 1
        return base

    @property
    def _end(self) -> int:
        """End of the old flatbuffer. Fields that the schema does not name may lead to bytes up to there."""
        return self.layout.end if self.layout.frozen == len(self.old) else len(self.old)

    def _live(self) -> set[int]:
        """Objects of the old file that something still leads to, vtables among them."""
        blobs = {base + blob.start: blob for base, blob in (*self._new.items(), *self._instead.values())}
        live: set[int] = set()
        seen: set[int] = set()
        pending = [self._targets[0]]
        while pending:
            address = pending.pop()
            if address in seen:
                continue
            seen.add(address)
            if address in blobs:
                pending += [target for _, target in blobs[address].references]
                continue
            held = self.layout.objects[address]
            live |= {address} if held.vtable < 0 else {address, held.vtable}
            pending += [self._targets[reference] for reference in held.references]
        return live

    def _references(self, live: set[int]) -> Iterator[tuple[int, int]]:
        """Every remaining offset, and its target."""
        yield 0, self._targets[0]
        for start in live:
            yield from ((reference, self._targets[reference]) for reference in self.layout.objects[start].references)
        for base, blob in (*self._new.items(), *self._instead.values()):
            yield from ((base + reference, target) for reference, target in blob.references)

    def _pieces(self, live: set[int]) -> Iterator[Piece]:
        """The new file in runs, in order."""
        if self._end > self.layout.end and self._new and is_zip(self.old[self.layout.end :]):
            raise NotAppliedError(UNNAMED)
        at = 0
        put_in: list[tuple[int, int, Piece | None]] = [  # in front of what it replaces, filled up to keep the alignment
            (start, start, Piece(base, blob.data + bytes(-len(blob.data) % ALIGNED)))
            for start, (base, blob) in self._instead.items()
        ]
        for start, stop, piece in sorted([*self._cuts(live), *put_in], key=lambda run: run[:2]):
            if start > at:
                yield Piece(at, bytes(self._bytes[at:start]))
            if piece is not None:
                yield piece
            at = max(at, stop)
        yield Piece(at, bytes(self._bytes[at : self._end]))
        for base, blob in reversed(self._new.items()):
            yield Piece(base, blob.data, blob.aligned)

    def _cuts(self, live: set[int]) -> Iterator[tuple[int, int, Piece | None]]:
        """Runs of bytes that are no longer needed, in multiples of `ALIGNED`; the rest of them becomes zero."""
        objects = [(entry.start, entry.end) for entry in self.layout.objects.values()]
        kept = [(start, self._ends[start]) for start in live]
        for start, end in dead_runs(self.old, objects, kept):
            self._bytes[start:end] = bytes(end - start)
            length = (min(end, self.layout.frozen) - start) // ALIGNED * ALIGNED
            if length > 0:
                yield start, start + length, None


# Tables that an edit of a `.tflite` file adds: tensors, buffers, changed options.


class NewTensor(NamedTuple):
    """A tensor that the file does not have yet."""

    name: str
    """Name."""
    elem_type: str
    """Element type in the schema's words."""
    shape: tuple[int, ...]
    """Sizes."""
    data: bytes = b""
    """Values; none for a tensor that is computed."""
    quantization: StoredQuantization | None = None
    """Scales and zero-points."""


def tensor(flat: FlatEdit, new: NewTensor, buffer: int) -> Address:
    """A tensor whose values are in a buffer."""
    values: dict[str, float | str | Address] = {"type": new.elem_type, "buffer": buffer}
    if new.quantization:
        values["quantization"] = _quantization(flat, new.quantization)
    values["shape"] = flat.append(scalars("int", new.shape))
    values["name"] = flat.append(text(new.name))
    return flat.append(table("Tensor", values))


def buffer(flat: FlatEdit, data: bytes) -> Address:
    """A buffer with these bytes."""
    return flat.append(table("Buffer", {"data": flat.append(scalars("ubyte", data))}))


def changed_table(flat: FlatEdit, old: Table, changes: Mapping[str, Value]) -> Address:
    """A copy of a table of numbers, text and vectors of numbers, with some fields changed. Raises NotAppliedError."""
    known = {name for name in old.fields if old.has(name)}
    if len(known) != len(old.slots()):
        raise NotAppliedError(f"{old.kind} has fields that are not known here")
    values: dict[str, float | str | bool | Address] = {}
    for name, field in old.fields.items():
        if name not in known and name not in changes:
            continue
        value = changes.get(name, old.value(name))
        if isinstance(value, tuple):
            kind = field.type[1:-1]
            values[name] = flat.append(scalars(kind, [number(kind, element) for element in value]))
        else:
            values[name] = flat.append(text(str(value))) if field.type == "string" else value
    return flat.append(table(old.kind, values))


def _quantization(flat: FlatEdit, new: StoredQuantization) -> Address:
    values: dict[str, float | Address] = {
        "scale": flat.append(scalars("float", new.scales)),
        "zero_point": flat.append(scalars("long", new.zero_points)),
        "quantized_dimension": new.axis,
    }
    return flat.append(table("QuantizationParameters", values))


# Edits of a `.tflite` file in its own words: tensors, buffers, inputs of operators, options; everything else stays.


OUTSIDE = 1
"""Offset of bytes up to which they are in the flatbuffer; larger ones lead behind it, in files beyond 2 GB."""


class TfliteEdit:
    """A copy of a file in the making."""

    def __init__(self, path: str, data: bytes) -> None:
        """Raises ModelError for a file that cannot be read, NotAppliedError for one that is not edited."""
        self.model = read_tflite(path, data)
        try:
            self._flat = FlatEdit(data)
        except ModelError as error:
            raise NotAppliedError(f"a part of the file that no runtime needs is damaged: {error}") from None
        self._root = SCHEMA.root(data)
        self._subgraphs = self._root.tables("subgraphs")
        self._tensors = [subgraph.tables("tensors") for subgraph in self._subgraphs]
        self._operators = [subgraph.tables("operators") for subgraph in self._subgraphs]
        self._buffers = self._root.tables("buffers")
        _check_inside(self._buffers, self._operators)
        self._values: dict[TensorPlace, bytes] = {}
        self._inputs: dict[OperatorPlace, list[int]] = {}
        self._options: dict[OperatorPlace, dict[str, Value]] = {}
        self._more_tensors: list[list[Address]] = [[] for _ in self._subgraphs]
        self._more_buffers: dict[bytes, tuple[int, Address]] = {}

    def tensor(self, where: TensorPlace) -> TfliteTensor:
        """A tensor as the file has it before all edits."""
        return self.model.subgraphs[where.subgraph].tensors[where.number]

    def operator(self, where: OperatorPlace) -> TfliteOperator:
        """An operator as the file has it before all edits."""
        return self.model.subgraphs[where.subgraph].operators[where.number]

    def set_shape(self, where: TensorPlace, shape: Sequence[int]) -> None:
        """Give a tensor new sizes; those that its signature leaves open stay open."""
        table, old = self._tensors[where.subgraph][where.number], self.tensor(where)
        if tuple(shape) == old.shape:
            return
        if len(shape) != len(old.shape):
            raise NotAppliedError(f"tensor `{old.name}` would change its rank")
        self._flat.write_vector(table.position("shape"), scalars("int", shape))
        if len(old.signature) == len(shape):
            signature = [size if known >= 0 else known for size, known in zip(shape, old.signature, strict=True)]
            self._flat.write_vector(table.position("shape_signature"), scalars("int", signature))

    def set_values(self, where: TensorPlace, data: bytes) -> None:
        """Give a constant other values; tensors that share its buffer keep theirs."""
        if self.tensor(where).encoding:
            raise NotAppliedError(f"tensor `{self.tensor(where).name}` is stored in a form that is not edited")
        self._values[where] = data

    def set_quantization(self, where: TensorPlace, quantization: StoredQuantization) -> None:
        """Give a tensor other scales and zero-points; a range that the file states for each of them is forgotten."""
        table = self._tensors[where.subgraph][where.number].table("quantization")
        if table is None or self._flat.shared(table.span.offset):
            raise NotAppliedError(f"tensor `{self.tensor(where).name}` shares its quantization with another one")
        self._flat.write_vector(table.position("scale"), scalars("float", quantization.scales))
        if table.position("zero_point"):
            self._flat.write_vector(table.position("zero_point"), scalars("long", quantization.zero_points))
        for name in ("min", "max"):
            if len(table.floats(name)) > 1:
                self._flat.write_vector(table.position(name), scalars("float", ()))

    def add_tensor(self, subgraph: int, new: NewTensor) -> int:
        """Add a tensor to a subgraph; returns its index there."""
        at = self._buffer(new.data) if new.data else 0
        self._more_tensors[subgraph].append(tensor(self._flat, new, at))
        return len(self._tensors[subgraph]) + len(self._more_tensors[subgraph]) - 1

    def set_input(self, where: OperatorPlace, position: int, tensor: int) -> None:
        """Make an operator read another tensor at an input, which it may not have had so far."""
        inputs = self._inputs.setdefault(where, list(self.operator(where).inputs))
        inputs += [-1] * (position + 1 - len(inputs))
        inputs[position] = tensor

    def option(self, where: OperatorPlace, name: str) -> Value:
        """Value of an option as it is now."""
        return self._options.get(where, {}).get(name, self.operator(where).options[name])

    def set_option(self, where: OperatorPlace, name: str, value: Value) -> None:
        """Give an operator another value of an option."""
        self._options.setdefault(where, {})[name] = value

    def data(self) -> bytes:
        """The file as it is now; to be asked for once. Raises NotAppliedError."""
        for where, inputs in self._inputs.items():
            table = self._operators[where.subgraph][where.number]
            self._flat.write_vector(table.position("inputs"), scalars("int", inputs))
        for where, options in self._options.items():
            self._write_options(self._operators[where.subgraph][where.number], options)
        self._write_values()
        for number, subgraph in enumerate(self._subgraphs):
            tensors = [*map(_address, self._tensors[number]), *self._more_tensors[number]]
            self._flat.write_addresses(subgraph.position("tensors"), tensors)
        buffers = [*map(_address, self._buffers), *(address for _, address in self._more_buffers.values())]
        self._flat.write_addresses(self._root.position("buffers"), buffers)
        return self._flat.data()

    def _write_options(self, operator: Table, changes: Mapping[str, Value]) -> None:
        """Changed options: in place where the file has room for them, else as a copy of their table."""
        holder = "builtin_options" if operator.table("builtin_options") else "builtin_options_2"
        options = operator.table(holder)
        if options is None:
            raise NotAppliedError("an operator without options has none to change")
        kinds = {name: options.fields[name].type for name in changes}
        roomy = all(kind in SCALARS and options.position(name) for name, kind in kinds.items())
        if not roomy or self._flat.shared(options.span.offset):
            self._flat.retarget(operator.position(holder), changed_table(self._flat, options, changes))
            return
        for name, value in changes.items():
            if not isinstance(value, tuple):
                self._flat.overwrite(options.position(name), packed(kinds[name], value))

    def _write_values(self) -> None:
        """New values into their buffer where every tensor that reads it gets new ones, else into a new buffer."""
        read = Counter(tensor.buffer for subgraph in self.model.subgraphs for tensor in subgraph.tensors)
        read.update(buffer for _, buffer in self.model.metadata)
        given: dict[int, dict[bytes, list[TensorPlace]]] = {}
        for where, values in self._values.items():
            given.setdefault(self.tensor(where).buffer, {}).setdefault(values, []).append(where)
        for buffer, groups in given.items():
            free = read[buffer] == sum(map(len, groups.values()))
            for values, places in groups.items():
                if free:
                    self._flat.write_vector(self._buffers[buffer].position("data"), scalars("ubyte", values))
                    free = False
                    continue
                fresh = struct.pack("<I", self._buffer(values))
                for where in places:
                    table = self._tensors[where.subgraph][where.number]
                    self._flat.overwrite(table.position("buffer"), fresh)

    def _buffer(self, data: bytes) -> int:
        """Index of a new buffer with these bytes; equal ones are one."""
        if data not in self._more_buffers:
            index = len(self._buffers) + len(self._more_buffers)
            self._more_buffers[data] = index, buffer(self._flat, data)
        return self._more_buffers[data][0]


def _check_inside(buffers: Sequence[Table], operators: Sequence[Sequence[Table]]) -> None:
    """Raise NotAppliedError for a file with bytes behind its flatbuffer, as those beyond 2 GB have them."""
    options = [table.number("large_custom_options_offset") for row in operators for table in row]
    if max([*options, *(table.number("offset") for table in buffers)], default=0) > OUTSIDE:
        raise NotAppliedError("the file keeps buffers behind the flatbuffer, as files beyond 2 GB do; it is not edited")


def _address(table: Table) -> Address:
    return Address(table.span.offset)


# A `.tflite` file with one of its operators alone, to run it on inputs of one's own.


def one_operator(data: bytes, number: int, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """The file with an operator of the main subgraph alone; tensors keep their numbers.

    `inputs` and `outputs` are those of the new model. Raises NotAppliedError for a file that is not edited.
    """
    edit, root = FlatEdit(data), SCHEMA.root(data)
    main = root.tables("subgraphs")[0]
    edit.write_addresses(main.position("operators"), [Address(main.tables("operators")[number].span.offset)])
    edit.write_vector(main.position("inputs"), scalars("int", inputs))
    edit.write_vector(main.position("outputs"), scalars("int", outputs))
    if root.has("signature_defs"):
        edit.write_addresses(root.position("signature_defs"), [])
    return edit.data()
