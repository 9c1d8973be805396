"""Weights as numpy arrays: constants of a model read one at a time, when they are asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.onnx import element_codes, external_data
from onnxlint_cmsis.formats.onnx.document import Document
from onnxlint_cmsis.formats.onnx.tensors import elem_bits, elem_name
from onnxlint_cmsis.ground.types import fits_an_array, packed_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import TensorProto


NUMPY = (
    *("bool", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
"""Element types that numpy has too; the file's bytes are little-endian."""


def array_of(document: Document, tensor: TensorProto) -> NDArray[Any] | None:
    """Return the values of a tensor; None where they cannot be read or have a type that numpy lacks.

    Numbers that lie in the file as numpy has them in memory are a view of the file, which nobody can write to.
    """
    name, bits, count = elem_name(tensor.data_type), elem_bits(tensor.data_type), math.prod(tensor.dims)
    raw = _raw(document, tensor, packed_bytes(count, bits))
    if raw is None or len(raw) * 8 // max(bits, 1) < count or not fits_an_array(tensor.dims):
        return None
    if name == "bool" and max(raw[:count], default=0) > 1:
        return None
    if name in NUMPY:
        stored: NDArray[Any] = np.frombuffer(raw, dtype=np.dtype(name).newbyteorder("<"))
        flat = stored.astype(name, copy=not stored.flags.aligned)
    elif name == "bfloat16":
        flat = (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    elif name in ("int4", "uint4"):
        flat = element_codes.unpacked(raw, bits, (count,))
        flat = flat if name == "uint4" else (flat ^ 8).astype(np.int8) - np.int8(8)
    else:
        return None
    return flat[:count].reshape(tuple(tensor.dims))


def _raw(document: Document, tensor: TensorProto, needed: int) -> bytes | memoryview | None:
    """Little-endian bytes of a tensor's values, wherever they are; None where they are not `needed` bytes."""
    from onnx import TensorProto as Proto

    payload = document.payload(tensor)
    if payload is not None and payload.external is not None:
        if document.path == "-":
            return None
        return external_data.read_bytes(document.path, payload.external, needed)
    if payload is not None and set(payload.counts) == {"raw_data"} and payload.counts["raw_data"] == payload.length:
        held = memoryview(document.buffer)[payload.offset : payload.offset + payload.length]
        return held if len(held) == needed else None
    if payload is not None:
        start, length = payload.message
        try:
            tensor = Proto.FromString(document.buffer[start : start + length])
        except Exception:  # protobuf's DecodeError: a list that was not looked into before
            return None
    data = element_codes.stored_bytes(tensor)
    return data if len(data) == needed else None
