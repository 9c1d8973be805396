"""ONNX element types: number in the file, name, bits per element (onnx.proto, TensorProto.DataType)."""

from __future__ import annotations

ELEM_TYPES: dict[int, tuple[str, int]] = {
    1: ("float32", 32),
    2: ("uint8", 8),
    3: ("int8", 8),
    4: ("uint16", 16),
    5: ("int16", 16),
    6: ("int32", 32),
    7: ("int64", 64),
    8: ("string", 0),
    9: ("bool", 8),
    10: ("float16", 16),
    11: ("float64", 64),
    12: ("uint32", 32),
    13: ("uint64", 64),
    14: ("complex64", 64),
    15: ("complex128", 128),
    16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8),
    18: ("float8e4m3fnuz", 8),
    19: ("float8e5m2", 8),
    20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4e2m1", 4),
    24: ("float8e8m0", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
    27: ("float6e2m3", 6),
    28: ("float6e3m2", 6),
}
"""Bits are 0 where elements have no fixed size (strings)."""


BITS = dict(ELEM_TYPES.values())
"""Bits of an element by the type's name."""


def elem_name(number: int) -> str:
    """Name of an element type, empty where it is undefined or unknown."""
    return ELEM_TYPES[number][0] if number in ELEM_TYPES else ""


def elem_number(name: str) -> int:
    """Number of an element type, 0 for a name that is none."""
    return next((number for number, (known, _) in ELEM_TYPES.items() if known == name), 0)


def elem_bits(number: int) -> int:
    """Bits of one element, 0 where they vary or are unknown."""
    return ELEM_TYPES[number][1] if number in ELEM_TYPES else 0
