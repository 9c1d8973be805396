"""Elements of a TensorProto as bit patterns, so that rearranging them changes no bit of any type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.formats.onnx.decoding import TYPED_FIELDS
from onnxlint_cmsis.formats.onnx.external_data import location, read_bytes
from onnxlint_cmsis.formats.onnx.tensors import BITS, elem_bits, elem_name
from onnxlint_cmsis.formats.onnx.walk import all_tensors
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.graph import Problem

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto


Codes = npt.NDArray[Any]


FIELD_TYPES = {
    "float_data": "<f4",
    "double_data": "<f8",
    "int64_data": "<i8",
    "uint64_data": "<u8",
    "int32_data": "<i4",
}
"""numpy's type of the entries of each typed field."""


ONES = {"float16": 0x3C00, "bfloat16": 0x3F80, "float32": 0x3F800000, "float64": 0x3FF0000000000000}
"""Bit pattern of 1.0."""


INFINITIES = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
"""Bit pattern of infinity; those between 0 and it are the positive finite numbers."""


def read(tensor: TensorProto, path: str) -> Codes:
    """Bit patterns in the tensor's shape; external data are read from beside the model at `path`.

    Raises NotAppliedError for texts, complex numbers, and payloads that do not fit the shape, UnreadableError for
    external data that are refused or missing.
    """
    name, bits, shape = elem_name(tensor.data_type), elem_bits(tensor.data_type), tuple(tensor.dims)
    if bits not in (2, 4, 8, 16, 32, 64) or name.startswith("complex"):
        raise NotAppliedError(f"tensor `{tensor.name}` is of type {name or tensor.data_type}, which is not resized")
    needed = packed_bytes(math.prod(shape), bits)
    raw = _external(tensor, path, needed) if tensor.data_location == tensor.EXTERNAL else stored_bytes(tensor)
    if len(raw) != needed:
        raise NotAppliedError(f"tensor `{tensor.name}` has {len(raw)} bytes, which do not fit its shape {list(shape)}")
    return unpacked(raw, bits, shape)


def unpacked(raw: bytes | memoryview, bits: int, shape: tuple[int, ...]) -> Codes:
    """Bit patterns in a shape from bytes that fit it; of several in a byte the lowest comes first."""
    whole = np.frombuffer(raw, np.dtype(f"<u{max(bits // 8, 1)}"))
    if bits < 8:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        whole = (whole[:, None] >> shifts & (1 << bits) - 1).reshape(-1)[: math.prod(shape)].astype(np.uint8)
    return whole.reshape(shape)


def require_readable(model: ModelProto, path: str) -> None:
    """Raise UnreadableError where a file with external data of a model at `path` cannot be opened; read nothing."""
    for tensor in all_tensors(model):
        if tensor.data_location == tensor.EXTERNAL:
            _external(tensor, path, 0)


def write(tensor: TensorProto, codes: Codes) -> None:
    """Give a tensor these elements and their shape, as raw data inside the model."""
    name, data_type, doc = tensor.name, tensor.data_type, tensor.doc_string
    metadata = [(entry.key, entry.value) for entry in getattr(tensor, "metadata_props", ())]
    tensor.Clear()
    tensor.name, tensor.data_type = name, data_type
    if doc:
        tensor.doc_string = doc
    for key, value in metadata:
        tensor.metadata_props.add(key=key, value=value)
    tensor.dims.extend(codes.shape)
    tensor.raw_data = packed(codes, elem_bits(data_type))


def number(elem_type: str, value: int) -> int:
    """Bit pattern of a small whole number. Raises NotAppliedError where the type has none that is known here."""
    bits = BITS[elem_type]
    if value == 0 or "int" in elem_type:
        return value & (1 << bits) - 1
    if elem_type == "bool":
        return int(bool(value))
    if value == 1 and elem_type in ONES:
        return ONES[elem_type]
    raise NotAppliedError(f"new elements of type {elem_type} would have to be {value}")


def first(codes: Codes, elem_type: str) -> int:
    """Bit pattern of the first element that can serve as a scale or zero-point: positive and finite, or any integer."""
    flat = codes.reshape(-1)
    if elem_type in INFINITIES:
        flat = flat[(flat > 0) & (flat < INFINITIES[elem_type])]
    if not flat.size:
        raise NotAppliedError("no scale is positive and finite")
    return int(flat[0])


def added(codes: Codes, elem_type: str, increments: npt.NDArray[np.generic]) -> Codes:
    """Elements plus increments along their one long axis.

    Raises NotAppliedError where the counts differ, where an integer would overflow or a number not be finite.
    """
    if codes.size != increments.size:
        raise NotAppliedError(f"{increments.size} increments for a bias of {codes.size}")
    kind = np.dtype(elem_type)
    old = codes.view(kind.newbyteorder("<")).reshape(-1)
    if kind.kind == "f":
        total = (old.astype(np.float64) + increments.astype(np.float64)).astype(kind)
        fits = bool(np.isfinite(total).all())
    else:
        wide = old.astype(object) + increments.astype(object)
        limits = np.iinfo(kind)
        fits = all(limits.min <= int(value) <= limits.max and value == int(value) for value in wide)
        total = wide.astype(kind) if fits else old
    if not fits:
        raise NotAppliedError(f"the bias would not fit {elem_type}")
    return np.ascontiguousarray(total).view(codes.dtype).reshape(codes.shape)


def stored_bytes(tensor: TensorProto) -> bytes:
    """Little-endian bytes of the values that a tensor holds itself, in raw data or in a typed list.

    Empty for a list with a number that the type does not have: runtimes make different numbers of it.
    """
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    field, bits = TYPED_FIELDS.get(elem_name(tensor.data_type), "int32_data"), elem_bits(tensor.data_type)
    entries = np.array(getattr(tensor, field), dtype=FIELD_TYPES[field])
    if field in ("int32_data", "uint64_data") and bits < entries.itemsize * 8:
        size = max(bits, 8) // 8
        narrow = entries.view(f"<u{entries.itemsize}").astype(f"<u{size}")
        signed = narrow.view(f"<i{size}")
        known = (entries == narrow) | (entries == signed) if tensor.data_type != tensor.BOOL else entries >> 1 == 0
        return narrow.tobytes() if known.all() else b""
    return bytes(entries.tobytes())


def _external(tensor: TensorProto, path: str, needed: int) -> bytes:
    if path == "-":
        raise UnreadableError("external data of a model that is not read from a file are out of reach")
    problems: list[Problem] = []
    external = location(tensor, path, problems)
    if problems:
        raise UnreadableError(problems[0].message)
    raw = read_bytes(path, external, needed)
    if raw is None:
        raise UnreadableError(
            f"tensor `{tensor.name}`: external data are in {external.location!r}, which cannot be read"
        )
    return bytes(raw)


def packed(codes: Codes, bits: int) -> bytes:
    """Bytes of bit patterns; of several in a byte the first is the lowest."""
    if bits >= 8:
        return bytes(np.ascontiguousarray(codes).astype(codes.dtype.newbyteorder("<"), copy=False).tobytes())
    per_byte = 8 // bits
    flat = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    flat[: codes.size] = codes.reshape(-1)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(flat.reshape(-1, per_byte) << shifts, axis=1).astype(np.uint8).tobytes())
