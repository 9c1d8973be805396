"""Fixed-point numbers of the device: multipliers of 31 bits, and each way of rounding what they multiply.

Sources: tensorflow/lite/kernels/internal/quantization_util.cc (QuantizeMultiplier) and common.cc
(MultiplyByQuantizedMultiplier); CMSIS-NN 7.0.0, Include/arm_nnsupportfunctions.h (arm_nn_requantize,
arm_nn_requantize_s64, arm_nn_divide_by_power_of_two). tests/test_requantization.py proves that all are monotone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = TypeVar("Whole", int, NDArray[Any])
    """One integer, or an int64 array of them."""


class Multiplier(NamedTuple):
    """A positive real number: value * 2**(shift - 31)."""

    value: int
    """Q31, 2**30 <= value < 2**31; 0 for a number below 2**-32."""
    shift: int
    """Power of two, positive to the left."""


def away(value: float) -> int:
    """Round to the nearest integer, halves away from zero (TfLiteRound)."""
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def quantize_multiplier(real: float) -> Multiplier:
    """Return the nearest multiplier of a finite number that is not negative (QuantizeMultiplier)."""
    if real == 0:
        return Multiplier(0, 0)
    fraction, shift = math.frexp(real)
    value = away(fraction * 2**31)
    if value == 2**31:
        value, shift = 2**30, shift + 1
    return Multiplier(0, 0) if shift < -31 else Multiplier(value, shift)


def divide_by_power_of_two(value: Whole, exponent: Whole | int) -> Whole:
    """Shift to the right; halves go away from zero (RoundingDivideByPOT)."""
    return (value + ((1 << exponent) >> 1) - ((value < 0) & (exponent > 0))) >> exponent


def high_mult(value: Whole, factor: Whole | int) -> Whole:
    """Return the nearest of value * factor / 2**31; halves go up (SaturatingRoundingDoublingHighMul)."""
    return (value * factor + (1 << 30)) >> 31


def requantize(value: Whole, multiplier: Multiplier) -> Whole:
    """Multiply as the default build does: rounded to 2**shift first, then to 1 if the shift is negative."""
    high = high_mult(value << max(multiplier.shift, 0), multiplier.value)
    return divide_by_power_of_two(high, max(-multiplier.shift, 0))


def requantize_once(value: Whole, multiplier: Multiplier) -> Whole:
    """Multiply as builds with TFLITE_SINGLE_ROUNDING or CMSIS_NN_USE_SINGLE_ROUNDING do; the shift is 30 at most."""
    return (value * multiplier.value + (1 << (30 - multiplier.shift))) >> (31 - multiplier.shift)


def requantize_wide(value: Whole, multiplier: Multiplier) -> Whole:
    """Multiply a sum of 64 bits by the upper 16 bits of the multiplier (arm_nn_requantize_s64)."""
    short = 0x7FFF if multiplier.value >= 0x7FFF0000 else (multiplier.value + (1 << 15)) >> 16
    right = 15 - multiplier.shift
    return (value * short + (1 << (right - 1))) >> right if right > 0 else value * short << -right
