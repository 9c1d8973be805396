"""Element types of TensorFlow Lite and the values of constants, read on demand."""

from __future__ import annotations

import struct
from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.model.graph import MAX_VALUES, Constant, Number

LETTERS = {
    "FLOAT32": "f", "FLOAT16": "e", "INT32": "i", "UINT8": "B", "INT64": "q", "BOOL": "?", "INT16": "h", "INT8": "b",
    "FLOAT64": "d", "UINT64": "Q", "UINT32": "I", "UINT16": "H",
}  # fmt: skip
"""Letter of `struct` for element types of whole bytes."""


NAMELESS = ("RESOURCE", "VARIANT")
"""Types that hold no numbers."""


def elem_type(tensor: TfliteTensor) -> str:
    """numpy-like name of a tensor's element type, empty where it has none."""
    name = tensor.elem_type
    if name in NAMELESS or "(" in name:
        return ""
    return name.lower().replace("float8_", "float8")


def constant(model: TfliteModel, tensor: TfliteTensor, key: str) -> Constant:
    """A tensor whose values the file holds; stored values, not scaled."""
    shape = tuple(max(size, 0) for size in tensor.shape)

    def read() -> tuple[Number, ...] | None:
        count = prod(shape)
        if count > MAX_VALUES or tensor.encoding:
            return None
        return _values(model.bytes_of(tensor.buffer), tensor.elem_type, count)

    return Constant(key, elem_type(tensor), shape, read, editable=not tensor.encoding)


def _values(data: bytes, kind: str, count: int) -> tuple[Number, ...] | None:
    """The first `count` values; None where the bytes are too few or the type holds no numbers."""
    if kind in ("INT4", "UINT4"):
        return _nibbles(data, count, signed=kind == "INT4")
    letter = LETTERS.get(kind)
    if letter is None or len(data) < count * struct.calcsize(letter):
        return None
    return struct.unpack_from(f"<{count}{letter}", data)


def _nibbles(data: bytes, count: int, *, signed: bool) -> tuple[int, ...] | None:
    """Two values to a byte, the lower half first."""
    if len(data) * 2 < count:
        return None
    halves = [half for byte in data for half in (byte & 15, byte >> 4)][:count]
    return tuple(half - 16 if signed and half > 7 else half for half in halves)
