"""Whether the values a tensor carries are as many as its dims say, judged by lengths alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.decoding import TYPED_FIELDS
from onnxlint_cmsis.formats.onnx.strip import DATA_FIELDS
from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES
from onnxlint_cmsis.ground.types import MAX_DIM, packed_bytes

if TYPE_CHECKING:
    from onnx import TensorProto

    from onnxlint_cmsis.formats.onnx.without_weights import Payload


FIXED_BYTES = {"float_data": 4, "double_data": 8}
"""Bytes of one entry; the other lists hold varints of 1 to 10 bytes."""


PAIRED = {"complex64": "float_data", "complex128": "double_data"}
"""Types with two entries an element."""


def payload_problem(tensor: TensorProto, payload: Payload | None) -> str | None:
    """Problem of a tensor's element type, dims or payload length; None for none."""
    dims = list(tensor.dims)
    if tensor.data_type not in ELEM_TYPES:
        return f"has element type {tensor.data_type}; known are 1 to {max(ELEM_TYPES)}"
    if not all(0 <= d <= MAX_DIM for d in dims):
        return f"has dims {dims}; allowed is 0 to {MAX_DIM} in each"
    if (payload is not None and payload.external is not None) or tensor.data_location == tensor.EXTERNAL:
        return None
    name, bits = ELEM_TYPES[tensor.data_type]
    counts = _counts(tensor) if payload is None else payload.counts
    if len(counts) > 1:
        return f"has values in {' and '.join(sorted(counts))}; allowed is one of them"
    count = math.prod(dims)
    if "raw_data" in counts:
        needed = packed_bytes(count, bits)
        fits = counts["raw_data"] == needed and name != "string"
        return None if fits else f"has {counts['raw_data']} bytes of raw_data; {name} {dims} takes {needed}"
    return _typed_problem(name, bits, dims, counts, in_bytes=payload is not None)


def _counts(tensor: TensorProto) -> dict[str, int]:
    """Bytes of raw_data or entries of another field, for the fields that have any."""
    if tensor.HasField("raw_data"):
        return {"raw_data": len(tensor.raw_data)}
    sizes = {field: len(getattr(tensor, field)) for field in DATA_FIELDS.values() if field != "raw_data"}
    return {field: size for field, size in sizes.items() if size}


def _typed_problem(name: str, bits: int, dims: list[int], counts: dict[str, int], in_bytes: bool) -> str | None:
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
            return None
    if low <= have <= high:
        return None
    unit = "bytes" if in_bytes else "values"
    allowed = str(low) if low == high else f"{low} to {high}"
    return f"has {have} {unit} of {field}; {name} {dims} takes {allowed}"
