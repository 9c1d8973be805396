"""What a layer should compute, in integers, as the kernels of CMSIS-NN define it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from onnxlint_cmsis.model.fixed_point import (
    Multiplier,
    divide_by_power_of_two,
    high_mult,
    quantize_multiplier,
    requantize,
)

if TYPE_CHECKING:
    from firmware_check.program import Elements, Step
    from firmware_check.quantized_constants import SoftmaxConstants


# What arm_softmax_s16 is called with: two tables and a multiplier, as TensorFlow Lite Micro makes them. Source:
# tensorflow/lite/micro/kernels/softmax_common.cc (SoftmaxPrepare, CalculateSoftmaxParams) and gen_lut in
# tensorflow/lite/kernels/internal/common.h, with single precision as there.


Curve = Callable[[np.ndarray], np.ndarray]

_STEPS = 512
_LOWEST_S16 = -10.0
"""Difference to the largest of a row at which the first table begins; what lies below counts as if it were this."""


def multiplier(scale: float) -> Multiplier:
    """Scales differences of an input of this scale so that -65535 is _LOWEST."""
    return quantize_multiplier(scale / (-_LOWEST_S16 / 65535.0))


def exponentials() -> np.ndarray:
    """exp(x) for x from -10 to 0: 513 int16 in units of 1/32768, the last for interpolation alone."""
    return _table(np.exp, _LOWEST_S16, 0.0)


def reciprocals() -> np.ndarray:
    """1 / (1 + x) for x from 0 to 1, likewise."""
    return _table(lambda x: np.float32(1) / (np.float32(1) + x), 0.0, 1.0)


def _table(curve: Curve, first: float, last: float) -> np.ndarray:
    """Samples, each moved by half of what interpolation to the next is off by in the middle."""
    step = np.float32((last - first) / _STEPS)
    places = np.float32(first) + np.arange(_STEPS, dtype=np.float32) * step
    exact = curve(np.append(places, np.float32(last))) * np.float32(32768)
    samples = _rounded(exact)
    middles = _rounded(curve(places + step / 2) * np.float32(32768))
    off = _rounded((exact[1:] + samples[:-1]) / 2) - middles
    samples[:-1] -= _rounded(off / 2)
    return np.asarray(np.clip(samples, -32768, 32767), np.int64)


def _rounded(values: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero, as C's round."""
    return np.asarray(np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values), np.float32)


# Softmax in plain integers: the exact output that CMSIS-NN should write. Sources: gemmlowp's fixedpoint.h
# (exp_on_negative_values, one_over_one_plus_x_for_x_in_0_1), which CMSIS-NN 7.0.0 follows in
# Include/arm_nnsupportfunctions.h:1824-1878 and Source/SoftmaxFunctions/arm_nn_softmax_common_s8.c:57-144; for int16
# SoftmaxInt16 of TensorFlow Lite (kernels/internal/reference/softmax.h), which arm_softmax_s16.c:39-118 follows.


_LOWEST_S8, _HIGHEST = -(1 << 31), (1 << 31) - 1
_WORD = 32
"""Bits of a register: C leaves open what a shift by so many is."""
_SUM_BITS = 12
"""Integer bits of the sum of a row."""
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-1/4), exp(-1/2), exp(-1), ... exp(-16) in Q0.31."""


class IntegerSoftmax(NamedTuple):
    """Exact output of a softmax function."""

    values: Elements
    """Integers in the order of memory."""
    defined: Elements
    """For each value, whether C defines the result of CMSIS-NN's shifts."""


UNDEFINED = (
    "{count} outputs are {how}: the exponentials of their rows sum to 512 times the largest or "
    "more, and arm_nn_softmax_common_s8.c then shifts by 32 bits or more, which C leaves open"
)
"""Remark for outputs that C does not define."""


def softmax_output(step: Step, source: Elements) -> IntegerSoftmax | None:
    """Output of a softmax function for `source`, in the order of memory; None for other layers."""
    if not step.function.startswith("arm_softmax_"):
        return None
    rows = source.astype(np.int64).reshape(cast(int, step.numbers["rows"]), cast(int, step.numbers["row"]))
    if step.inputs[0].quantization.bits == 16:
        return _of_int16(rows, cast("Multiplier", step.numbers["constants"]))
    return _of_int8(rows, cast("SoftmaxConstants", step.numbers["constants"]), step.output.quantization.bits)


def _of_int8(rows: Elements, constants: SoftmaxConstants, bits: int) -> IntegerSoftmax:
    """Rows of int8 to int8 or int16. Probability 0 is the lowest integer."""
    below = rows - rows.max(axis=1, keepdims=True)
    counts = below >= constants.diff_min
    shifted = np.where(counts, below, 0) << constants.multiplier.shift
    powers = _exponential(_product(shifted, constants.multiplier.value))
    whole = np.where(counts, divide_by_power_of_two(powers, _SUM_BITS), 0).sum(axis=1, keepdims=True)
    sums = np.minimum(whole, _HIGHEST)
    room = _leading_zeros(sums)
    shares = _product(_reciprocal((sums << room) - (1 << 31)), powers)
    lowest, right = -(1 << (bits - 1)), _SUM_BITS - room + 31 - bits
    result = np.clip(np.where(counts, divide_by_power_of_two(shares, right), 0) + lowest, lowest, -lowest - 1)
    defined = np.broadcast_to((right < _WORD) & (whole == sums), rows.shape)
    return IntegerSoftmax(result.reshape(-1), defined.reshape(-1))


def _of_int16(rows: Elements, multiplier: Multiplier) -> IntegerSoftmax:
    """Rows of int16 to int16 by two tables."""
    below = rows - rows.max(axis=1, keepdims=True)
    powers = _looked_up(exponentials(), requantize(below, multiplier) + 32767)
    sums = powers.sum(axis=1, keepdims=True)
    room = _leading_zeros(sums)
    index = (((sums << (room - 1)) + (1 << 13)) >> 14) - 98304
    shares = (powers * _looked_up(reciprocals(), index)) >> (30 - room)
    rounded = ((shares + 1) >> 1).reshape(-1)
    return IntegerSoftmax(rounded, np.ones(rounded.shape, bool))


def _looked_up(table: Elements, position: Elements) -> Elements:
    """Values of a table of 513 entries at int16 places, linear between two entries."""
    position = np.clip(position, -32768, 32767)
    index = 256 + (position >> 7)
    slope = table[index + 1] - table[index]
    return np.asarray(table[index] + ((slope * (position & 127) + 64) >> 7))


def _exponential(value: Elements) -> Elements:
    """Exp of Q5.26 from -32 to 0, as Q0.31: a polynomial around -1/8, times a power for each bit beyond 1/4."""
    quarter = (value & ((1 << 24) - 1)) - (1 << 24)
    x = (quarter << 5) + (1 << 28)
    square = _product(x, x)
    series = _product(divide_by_power_of_two(_product(square, square), 2) + _product(square, x), 715827883) + square
    result = 1895147668 + _product(1895147668, x + divide_by_power_of_two(series, 1))
    for bit, power in enumerate(_POWERS, start=24):
        result = np.where((quarter - value) & (1 << bit), _product(result, power), result)
    return np.asarray(np.where(value == 0, _HIGHEST, result))


def _reciprocal(value: Elements) -> Elements:
    """1 / (1 + x) of Q0.31 from 0 to 1, as Q0.31: three steps of Newton and Raphson."""
    total = value + _HIGHEST
    half = np.where(total >= 0, (total + 1) // 2, -((1 - total) // 2))
    x = 1515870810 + _product(half, -1010580540)
    for _ in range(3):
        x = x + _doubled(_product(x, (1 << 29) - _product(half, x)), 2)
    return _doubled(x, 1)


def _product(first: Elements | int, other: Elements | int) -> Elements:
    """Doubled high half of a product, halves rounded up."""
    return np.asarray(np.minimum(high_mult(np.asarray(first, np.int64), other), _HIGHEST))


def _doubled(value: Elements, times: int) -> Elements:
    """A number times a power of two, saturated."""
    return np.asarray(np.clip(value << times, _LOWEST_S8, _HIGHEST))


def _leading_zeros(value: Elements) -> Elements:
    """Of a positive number of 32 bits."""
    return np.asarray([[32 - int(number).bit_length() for number in row] for row in value.tolist()], np.int64)
