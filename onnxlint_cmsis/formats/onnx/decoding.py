"""Decoding the values of a TensorProto, for every element type, without numpy."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.tensors import elem_bits, elem_name
from onnxlint_cmsis.ground.types import packed_bytes

if TYPE_CHECKING:
    from onnx import TensorProto

    from onnxlint_cmsis.model.graph import Number


STRUCT_CODES = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}
"""Types that `struct` knows."""


SMALL_FLOATS: dict[str, tuple[int, int, int, str]] = {
    "bfloat16": (8, 7, 127, "ieee"),
    "float8e4m3fn": (4, 3, 7, "all ones is nan"),
    "float8e4m3fnuz": (4, 3, 8, "minus zero is nan"),
    "float8e5m2": (5, 2, 15, "ieee"),
    "float8e5m2fnuz": (5, 2, 16, "minus zero is nan"),
    "float4e2m1": (2, 1, 1, "finite"),
    "float6e2m3": (2, 3, 1, "finite"),
    "float6e3m2": (3, 2, 3, "finite"),
}
"""Exponent bits, mantissa bits, exponent bias and what the special codes mean (onnx.proto, TensorProto.DataType)."""


TYPED_FIELDS = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint64": "uint64_data",
    "uint32": "uint64_data",
}
"""Field for values outside raw_data; int32_data for all other numbers (onnx.proto)."""


def tensor_values(tensor: TensorProto) -> tuple[Number, ...] | None:
    """Flat values in row-major order; None for strings, complex numbers and payloads that do not fit the dims."""
    name, count = elem_name(tensor.data_type), math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        return decode(name, elem_bits(tensor.data_type), count, tensor.raw_data)
    values: Sequence[Number] = getattr(tensor, TYPED_FIELDS.get(name, "int32_data"))
    if name in STRUCT_CODES and name != "float16":
        return tuple(values) if len(values) == count else None
    return _from_codes(name, elem_bits(tensor.data_type), count, values)


def decode(name: str, bits: int, count: int, raw: bytes) -> tuple[Number, ...] | None:
    """Values of `count` elements in little-endian bytes; None where the bytes are not as many as that takes."""
    if bits == 0 or len(raw) != packed_bytes(count, bits):
        return None
    if name in STRUCT_CODES:
        return struct.unpack(f"<{count}{STRUCT_CODES[name]}", raw)
    if bits == 16:
        return _unpacked(name, struct.unpack(f"<{count}H", raw))
    if bits < 8:
        whole = int.from_bytes(raw, "little") if bits == 6 else 0
        per_byte, mask = 8 // bits, (1 << bits) - 1
        codes = (
            [whole >> bits * i & mask for i in range(count)]
            if bits == 6
            else [raw[i // per_byte] >> bits * (i % per_byte) & mask for i in range(count)]
        )
        return _unpacked(name, codes)
    return _unpacked(name, raw) if bits == 8 else None


def _from_codes(name: str, bits: int, count: int, values: Sequence[Number]) -> tuple[Number, ...] | None:
    """Values stored as their bit patterns in int32_data; elements of 2 and 4 bits share a byte."""
    codes = [int(v) & (0xFFFF if bits == 16 else 0xFF) for v in values]
    if bits == 16:
        return decode(name, bits, count, struct.pack(f"<{len(codes)}H", *codes))
    if bits == 6:
        return _unpacked(name, codes) if len(codes) == count else None
    return decode(name, bits, count, bytes(codes))


def _unpacked(name: str, codes: Iterable[int]) -> tuple[Number, ...] | None:
    """Numbers behind bit patterns of types that `struct` does not know."""
    if name in ("uint4", "uint2"):
        return tuple(codes)
    if name in ("int4", "int2"):
        half = 8 if name == "int4" else 2
        return tuple(c - 2 * half if c >= half else c for c in codes)
    if name == "float8e8m0":
        return tuple(math.nan if c == 0xFF else 2.0 ** (c - 127) for c in codes)
    layout = SMALL_FLOATS.get(name)
    return None if layout is None else tuple(_small_float(c, *layout) for c in codes)


def _small_float(code: int, exponent_bits: int, mantissa_bits: int, bias: int, special: str) -> float:
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) & 1 else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    top = exponent == (1 << exponent_bits) - 1
    if special == "ieee" and top:
        return math.nan if mantissa else sign * math.inf
    if special == "all ones is nan" and top and mantissa == (1 << mantissa_bits) - 1:
        return math.nan
    if special == "minus zero is nan" and sign < 0 and not exponent and not mantissa:
        return math.nan
    fraction = mantissa / (1 << mantissa_bits)
    return sign * (2.0 ** (exponent - bias) * (1 + fraction) if exponent else 2.0 ** (1 - bias) * fraction)
