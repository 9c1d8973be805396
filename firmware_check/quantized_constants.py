"""Quantized arithmetic's constants, computed as TensorFlow Lite computes them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier


def packed(weights: NDArray[Any]) -> NDArray[Any]:
    """4-bit weights in a row, two to a byte, the first in the low half."""
    even = np.append(weights, 0) if weights.size % 2 else weights
    whole = even.astype(np.int16)
    return np.asarray(((whole[0::2] & 15) | ((whole[1::2] & 15) << 4)).astype(np.uint8).view(np.int8))


class SoftmaxConstants(NamedTuple):
    """What arm_softmax_s8 needs to know of its input's scale."""

    multiplier: Multiplier
    """Scale in Q5.26, times beta."""
    diff_min: int
    """Smallest difference to the row's maximum that still counts."""


_DIFFERENCE_BITS = 5


def softmax_constants(scale: float) -> SoftmaxConstants:
    """Constants of a softmax over an input of this scale (PreprocessSoftmaxScaling, CalculateInputRadius)."""
    real = min(scale * (1 << (31 - _DIFFERENCE_BITS)), (1 << 31) - 1.0)
    multiplier = quantize_multiplier(real)
    radius = ((1 << _DIFFERENCE_BITS) - 1) * (1 << (31 - _DIFFERENCE_BITS)) / 2.0**multiplier.shift
    return SoftmaxConstants(multiplier, -math.floor(radius))


ADD_LEFT_SHIFT = {8: 20, 16: 15}
"""Bits of the operands of an addition to those by which TensorFlow Lite shifts them to the left."""


class AddConstants(NamedTuple):
    """Multipliers of an addition."""

    first: Multiplier
    """Multiplier of the first operand."""
    second: Multiplier
    """Multiplier of the second operand."""
    output: Multiplier
    """Multiplier of the sum."""


def add_constants(first: float, second: float, output: float, left_shift: int = ADD_LEFT_SHIFT[8]) -> AddConstants:
    """Multipliers of an addition of two scales into a third."""
    twice = 2.0 * max(first, second)
    return AddConstants(
        quantize_multiplier(first / twice),
        quantize_multiplier(second / twice),
        quantize_multiplier(twice / ((1 << left_shift) * output)),
    )
