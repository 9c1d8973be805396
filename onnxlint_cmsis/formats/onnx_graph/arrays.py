"""Weights as numpy arrays: constants of a model read one at a time, when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.onnx_graph import external
from onnxlint_cmsis.formats.onnx_graph.elem_types import elem_bits, elem_name
from onnxlint_cmsis.formats.onnx_graph.values import TYPED_FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import TensorProto

    from onnxlint_cmsis.formats.onnx_graph.document import Document
    from onnxlint_cmsis.formats.onnx_graph.load import LoadedModel
    from onnxlint_cmsis.graph.model import Constant

NUMPY = (
    *("bool", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
"""Element types that numpy has too; the file's bytes are little-endian."""


def reader(model: LoadedModel) -> Callable[[str], NDArray[Any] | None]:
    """A way to read the constants of a model by their key in its graph.

    Initializers and Constant nodes of any size, and up to `MAX_VALUES` elements of what follows from them; None for
    anything else, for external data that the loader refuses or that belongs to a model without a path, and for
    strings. 4-bit integers come as int8 and uint8, bfloat16 as float32.
    """

    def read(key: str) -> NDArray[Any] | None:
        tensor, constant = model.tensors.get(key), model.graph.constants.get(key)
        if constant is None:
            return None
        return _array(model.document, tensor) if tensor is not None else _small(constant)

    return read


def _small(constant: Constant) -> NDArray[Any] | None:
    values = constant.values()
    if values is None or constant.elem_type not in NUMPY:
        return None
    return np.array(values, dtype=constant.elem_type).reshape(constant.shape)


def _array(document: Document, tensor: TensorProto) -> NDArray[Any] | None:
    name, bits, count = elem_name(tensor.data_type), elem_bits(tensor.data_type), math.prod(tensor.dims)
    raw = _raw(document, tensor, (count * bits + 7) // 8)
    if raw is None or len(raw) * 8 // max(bits, 1) < count:
        return None
    flat = _decoded(name, raw)
    return None if flat is None else flat[:count].reshape(tuple(tensor.dims))


def _raw(document: Document, tensor: TensorProto, needed: int) -> bytes | None:
    """Little-endian bytes of a tensor's values, wherever they are; None where they are not `needed` bytes."""
    from onnx import TensorProto as Proto

    payload = document.payload(tensor)
    if payload is not None and payload.external is not None:
        if document.path == "-":
            return None
        return external.read_bytes(document.path, payload.external, needed)
    if payload is not None and set(payload.counts) == {"raw_data"} and payload.counts["raw_data"] == payload.length:
        found = bytes(document.buffer[payload.offset : payload.offset + payload.length])
        return found if len(found) == needed else None
    if payload is not None:
        start, length = payload.message
        try:
            tensor = Proto.FromString(document.buffer[start : start + length])
        except Exception:  # protobuf's DecodeError: a list that was not looked into before
            return None
    found = tensor.raw_data if tensor.HasField("raw_data") else _typed(tensor)
    return found if len(found) == needed else None


def _typed(tensor: TensorProto) -> bytes:
    """Bytes of values kept in a typed list: numbers as they are, bit patterns in the entries of int32_data."""
    name, bits = elem_name(tensor.data_type), elem_bits(tensor.data_type)
    field = TYPED_FIELDS.get(name, "int32_data")
    if field != "int32_data":
        return np.array(getattr(tensor, field), dtype=np.dtype(name).newbyteorder("<")).tobytes()
    width = {16: "<u2", 32: "<i4"}.get(bits, "u1")
    return np.array(tensor.int32_data, dtype=np.int64).astype(width).tobytes()


def _decoded(name: str, raw: bytes) -> NDArray[Any] | None:
    if name in NUMPY:
        return np.frombuffer(raw, dtype=np.dtype(name).newbyteorder("<")).astype(name)
    if name == "bfloat16":
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    if name in ("int4", "uint4"):
        packed = np.frombuffer(raw, dtype=np.uint8)
        codes = np.stack((packed & 15, packed >> 4), axis=-1).reshape(-1)
        return codes if name == "uint4" else ((codes ^ 8).astype(np.int8) - 8).astype(np.int8)
    return None
