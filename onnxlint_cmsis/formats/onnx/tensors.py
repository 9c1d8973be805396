"""Element types, stored values and attributes of ONNX files."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.wire import DATA_FIELDS
from onnxlint_cmsis.ground.types import MAX_DIM, packed_bytes

if TYPE_CHECKING:
    from onnx import AttributeProto, TensorProto

    from onnxlint_cmsis.formats.onnx.wire import Payload
    from onnxlint_cmsis.model.graph import Attribute, Number


# ONNX element types: number in the file, name, bits per element (onnx.proto, TensorProto.DataType).


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


def elem_name(number: int) -> str:
    """Name of an element type, empty where it is undefined or unknown."""
    return ELEM_TYPES[number][0] if number in ELEM_TYPES else ""


def elem_number(name: str) -> int:
    """Number of an element type, 0 for a name that is none."""
    return next((number for number, (known, _) in ELEM_TYPES.items() if known == name), 0)


def elem_bits(number: int) -> int:
    """Bits of one element, 0 where they vary or are unknown."""
    return ELEM_TYPES[number][1] if number in ELEM_TYPES else 0


# Attributes of a node as plain values.


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
    """Whether `plain` has all that an attribute says."""
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


# Decoding the values of a TensorProto, for every element type, without numpy.


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
        return _numbers(name, struct.unpack(f"<{count}H", raw))
    if bits < 8:
        whole = int.from_bytes(raw, "little") if bits == 6 else 0
        per_byte, mask = 8 // bits, (1 << bits) - 1
        codes = (
            [whole >> bits * i & mask for i in range(count)]
            if bits == 6
            else [raw[i // per_byte] >> bits * (i % per_byte) & mask for i in range(count)]
        )
        return _numbers(name, codes)
    return _numbers(name, raw) if bits == 8 else None


def _from_codes(name: str, bits: int, count: int, values: Sequence[Number]) -> tuple[Number, ...] | None:
    """Values stored as their bit patterns in int32_data; elements of 2 and 4 bits share a byte."""
    codes = [int(v) & (0xFFFF if bits == 16 else 0xFF) for v in values]
    if bits == 16:
        return decode(name, bits, count, struct.pack(f"<{len(codes)}H", *codes))
    if bits == 6:
        return _numbers(name, codes) if len(codes) == count else None
    return decode(name, bits, count, bytes(codes))


def _numbers(name: str, codes: Iterable[int]) -> tuple[Number, ...] | None:
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
    """Value of one sign-exponent-mantissa pattern."""
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


# Whether the values a tensor carries are as many as its dims say, judged by lengths alone.


FIXED_BYTES = {"float_data": 4, "double_data": 8}
"""Bytes of one entry; the other lists hold varints of 1 to 10 bytes."""
PAIRED = {"complex64": "float_data", "complex128": "double_data"}
"""Types with two entries an element."""


def payload_problem(tensor: TensorProto, payload: Payload | None) -> str:
    """Problem of a tensor's element type, dims or payload length; empty for none."""
    dims = list(tensor.dims)
    if tensor.data_type not in ELEM_TYPES:
        return f"has element type {tensor.data_type}; known are 1 to {max(ELEM_TYPES)}"
    if not all(0 <= d <= MAX_DIM for d in dims):
        return f"has dims {dims}; allowed is 0 to {MAX_DIM} in each"
    if (payload is not None and payload.external is not None) or tensor.data_location == tensor.EXTERNAL:
        return ""
    name, bits = ELEM_TYPES[tensor.data_type]
    counts = _counts(tensor) if payload is None else payload.counts
    if len(counts) > 1:
        return f"has values in {' and '.join(sorted(counts))}; allowed is one of them"
    count = math.prod(dims)
    if "raw_data" in counts:
        needed = packed_bytes(count, bits)
        fits = counts["raw_data"] == needed and name != "string"
        return "" if fits else f"has {counts['raw_data']} bytes of raw_data; {name} {dims} takes {needed}"
    return _typed_problem(name, bits, dims, counts, in_bytes=payload is not None)


def _counts(tensor: TensorProto) -> dict[str, int]:
    """Bytes of raw_data or entries of another field, for the fields that have any."""
    if tensor.HasField("raw_data"):
        return {"raw_data": len(tensor.raw_data)}
    sizes = {field: len(getattr(tensor, field)) for field in DATA_FIELDS.values() if field != "raw_data"}
    return {field: size for field, size in sizes.items() if size}


def _typed_problem(name: str, bits: int, dims: list[int], counts: dict[str, int], in_bytes: bool) -> str:
    """The same for values in a typed list, counted in entries, or in bytes where the list was not parsed."""
    count = math.prod(dims)
    field = "string_data" if name == "string" else PAIRED.get(name) or TYPED_FIELDS.get(name, "int32_data")
    entries = 2 * count if name in PAIRED else packed_bytes(count, bits) if bits in (2, 4) else count
    wrong = set(counts) - {field}
    if wrong:
        return f"has values in {wrong.pop()}; {name} belongs in {field} or raw_data"
    have = counts.get(field, 0)
    low = high = entries
    if in_bytes:
        low, high = (entries * FIXED_BYTES[field],) * 2 if field in FIXED_BYTES else (entries, 10 * entries)
        if field == "string_data":
            return ""
    if low <= have <= high:
        return ""
    unit = "bytes" if in_bytes else "values"
    allowed = str(low) if low == high else f"{low} to {high}"
    return f"has {have} {unit} of {field}; {name} {dims} takes {allowed}"
