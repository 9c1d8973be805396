"""Whether an int16 layer's sums can leave 32 bits, from the weights and the bias in its file."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.lower.sums import SumBound, SumTerms, left_shifts
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView

if TYPE_CHECKING:
    import numpy as np

    from onnxlint_cmsis.lower.sums import Whole

REACH = -(2**15), 2**15 - 1
"""int16 activations, of zero-point 0."""


def adds_in_int32(view: OperatorView) -> bool:
    """Tell whether a layer has an int32 bias, or none, for which arm_convolve_s16 is told that it is int32."""
    bias = view.input(2)
    return bias is None or bias.elem_type == "INT32"


def overflow(view: OperatorView, products: int) -> SumBound | None:
    """The worst channel of a layer that adds as many products of each sum in 32 bits, and an int32 bias to them.

    None where no sum overflows, or the file does not hold int8 weights [channel, ...] and an int32 bias.
    """
    import numpy as np

    data, weights, output = view.input(0), view.input(1), view.output()
    if data is None or weights is None or output is None or weights.elem_type != "INT8" or len(weights.shape) < 2:
        return None
    count = weights.shape[0]
    none = np.zeros(max(count, 0), np.int64)
    terms = SumTerms(REACH, min(prod(weights.shape[1:]), products), none, none)
    bias = view.input(2)
    if adds_in_int32(view):
        scales = _scales(data, 1), _scales(weights, count), _scales(output, 1)
        if not all(len(values) for values in scales) or not scales[2].all():
            return None
        with np.errstate(all="ignore"):  # scales of damaged files
            terms = terms._replace(shifts=left_shifts(scales[0] * scales[1] / scales[2]))
        added = None if bias is None else _values(view, bias, "<i4")
        if added is not None and len(added) == count:
            terms = terms._replace(bias=added)
    values = _values(view, weights, "<i1") if count > 0 and terms.doubtful else None
    return None if values is None else terms.worst_channel(values.reshape(count, -1))


def _scales(tensor: TfliteTensor, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Scales of a tensor, one for each of `count` channels; empty where it has none or another number."""
    import numpy as np

    scales = tensor.quantization.scales if tensor.quantization else ()
    return np.resize(np.array(scales, np.float64), count) if len(scales) in (1, count) else np.zeros(0)


def _values(view: OperatorView, tensor: TfliteTensor, kind: str) -> Whole | None:
    """Integers of a constant; None where the file does not hold them all."""
    import numpy as np

    size = prod(tensor.shape) * np.dtype(kind).itemsize
    if not view.constant(tensor) or tensor.encoding or size < 0:
        return None
    data = view.model.bytes_of(tensor.buffer)[:size]
    return np.frombuffer(data, kind).astype(np.int64) if len(data) == size else None
