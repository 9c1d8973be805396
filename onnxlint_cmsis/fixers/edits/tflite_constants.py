"""Constants of a `.tflite` file as bit patterns, and new biases in the unit of a layer's sum."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.fixers.planning.elements import StoredElements
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.formats.tflite.constants import elem_type
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteTensor
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.graph import StoredQuantization

WIDE_BIAS = "INT16"
"""Type of data whose layers have int64 biases; those of other integers have int32."""


def stored_elements(model: TfliteModel, tensor: TfliteTensor) -> StoredElements:
    """Elements of a constant. Raises NotAppliedError for forms that are not edited."""
    kind, raw = elem_type(tensor), model.bytes_of(tensor.buffer)
    bits = BITS.get(kind, 0)
    if tensor.encoding or not bits or kind.startswith(("complex", "string")):
        raise NotAppliedError(f"constant `{tensor.name}` is stored in a form that is not edited")
    if len(raw) != packed_bytes(prod(tensor.shape), bits):
        raise NotAppliedError(f"constant `{tensor.name}` has {len(raw)} bytes, which do not fit its shape")
    return StoredElements(element_codes.unpacked(raw, bits, tensor.shape), kind)


def new_bias(
    data: TfliteTensor, weights: TfliteTensor, factors: StoredQuantization | None, values: npt.NDArray[np.generic]
) -> NewTensor:
    """A bias of these values; `factors` are the scales of the weights, which may differ from those in the file."""
    scales = data.quantization
    if scales is None or factors is None:
        return NewTensor(f"{weights.name}_bias", "FLOAT32", values.shape, values.astype("<f4").tobytes())
    wide = data.elem_type == WIDE_BIAS
    products = tuple(float(np.float32(scales.scales[0]) * np.float32(scale)) for scale in factors.scales)
    quantization = StoredQuantization(products, (0,) * len(products), 0)
    raw = values.astype("<i8" if wide else "<i4").tobytes()
    return NewTensor(f"{weights.name}_bias", "INT64" if wide else "INT32", values.shape, raw, quantization)
