"""Checked reading of a flatbuffer: every offset and every length is held against the file."""

from __future__ import annotations

import struct
from textwrap import shorten

from onnxlint_cmsis.formats.onnx_graph.wire import Buffer
from onnxlint_cmsis.graph.model_error import ModelError
from onnxlint_cmsis.named_tuples import NamedTuple

OVERLAP = 4
"""How many times its own size a file may hold in tables and vectors: writers share some, a bomb shares thousands."""
TABLE_COST = 32
"""Bytes that each table counts; in a real file a table and the offset to it take at least a quarter of that."""


class Span(NamedTuple):
    """A run of bytes of the file."""

    offset: int
    """First byte."""
    length: int
    """Bytes."""


class FlatFile:
    """The bytes of a file, read with checks.

    Every method raises ModelError (`not-tflite`) where the file ends early or an offset leads out of it.
    """

    def __init__(self, data: Buffer) -> None:
        self.data = data
        self.size = len(data)
        self._budget = OVERLAP * self.size

    def number(self, letter: str, width: int, position: int) -> int | float:
        """One number of `struct` type `letter` and `width` bytes."""
        if not 0 <= position <= self.size - width:
            raise damaged(f"a value of {width} bytes at byte {position} lies outside the {self.size} bytes of the file")
        value: int | float = struct.unpack_from("<" + letter, self.data, position)[0]
        return value

    def follow(self, position: int) -> int:
        """Where the offset stored at `position` leads."""
        target = position + int(self.number("I", 4, position))
        if not position < target < self.size:
            raise damaged(
                f"the offset at byte {position} leads to byte {target}, outside the {self.size} bytes of the file"
            )
        return target

    def vector(self, position: int, width: int) -> Span:
        """First element and count of the vector at `position`, whose elements have `width` bytes."""
        count = int(self.number("I", 4, position))
        if count * width > self.size - position - 4:
            raise damaged(f"the vector at byte {position} claims {count} elements, more than the file holds")
        return Span(position + 4, count)

    def spend(self, size: int) -> None:
        """Count bytes turned into Python values, so that vectors that overlap cannot fill the memory."""
        self._budget -= size
        if self._budget < 0:
            raise damaged(f"its tables and vectors overlap: together they hold more than {OVERLAP} times the file")


def damaged(what: str) -> ModelError:
    """The error for a file that starts like a TensorFlow Lite model and cannot be read as one."""
    return ModelError("not-tflite", f"not a readable TensorFlow Lite model: {shorten(what, 300)}")
