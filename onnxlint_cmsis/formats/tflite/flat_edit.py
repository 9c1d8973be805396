"""A changed copy of a `.tflite` file: bytes written over, new objects put in, what nothing leads to any more cut out.

All other bytes stay in their order, so what the schema here does not name stays as well; only offsets between what
moved are counted anew. Cuts and insertions are multiples of `ALIGNED` bytes, so nothing loses its alignment.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence

from onnxlint_cmsis.formats.flatbuffer import root_of
from onnxlint_cmsis.formats.tflite.flat_layout import flat_layout
from onnxlint_cmsis.formats.tflite.flat_writer import ALIGNED, Address, Blob, addresses
from onnxlint_cmsis.formats.tflite.pieces import Piece, dead_runs, laid
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.formats.tflite.zip_archive import is_zip, moved_zip
from onnxlint_cmsis.ground.errors import NotAppliedError

NEW = 1 << 40
"""First address of new objects; no file is as large."""


UNNAMED = "the file has fields that are not known here, and there is no room before them"


class FlatEdit:
    """A file in the making. Addresses of the old file's objects stay what they are until `data`."""

    def __init__(self, data: bytes) -> None:
        """Raises ModelError where an offset leads out of the file."""
        self.old = data
        self.layout = flat_layout(root_of(SCHEMA, data).file)
        self._bytes = bytearray(data)
        self._ends = {start: entry.end for start, entry in self.layout.objects.items()}
        self._targets: dict[int, int] = dict(self.layout.references)
        self._uses = Counter(self._targets.values())
        self._instead: dict[int, tuple[int, Blob]] = {}
        self._new: dict[int, Blob] = {}
        self._next = NEW

    def shared(self, start: int) -> bool:
        """Tell whether more than one offset of the old file leads to an object."""
        return self._uses[start] > 1

    def overwrite(self, position: int, data: bytes) -> None:
        """Replace bytes of the old file by as many others."""
        self._bytes[position : position + len(data)] = data

    def retarget(self, position: int, target: int) -> None:
        """Make the offset at a place of the old file lead to another object behind it."""
        self._targets[position] = target

    def target(self, position: int) -> Address:
        """What the offset at a place of the old file leads to now."""
        return Address(self._targets[position])

    def replace_table(self, position: int, blob: Blob) -> None:
        """Put a new table where the one lies that the offset at a place leads to. Raises NotAppliedError."""
        start = self._targets[position]
        if start > self.layout.frozen or self.shared(start):
            raise NotAppliedError(UNNAMED)
        base = self._room(blob)
        self._instead[start] = base, blob
        self.retarget(position, base + blob.start)

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
