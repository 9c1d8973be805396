"""What arm_softmax_s16 is called with: two tables and a multiplier, as TensorFlow Lite Micro makes them.

Source: tensorflow/lite/micro/kernels/softmax_common.cc (SoftmaxPrepare, CalculateSoftmaxParams) and gen_lut in
tensorflow/lite/kernels/internal/common.h, with single precision as there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from firmware_check.numbers import Multiplier, quantize_multiplier

Curve = Callable[[np.ndarray], np.ndarray]

_STEPS = 512
_LOWEST = -10.0
"""Difference to the largest of a row at which the first table begins; what lies below counts as if it were this."""


def multiplier(scale: float) -> Multiplier:
    """Scales differences of an input of this scale so that -65535 is _LOWEST."""
    return quantize_multiplier(scale / (-_LOWEST / 65535.0))


def exponentials() -> np.ndarray:
    """exp(x) for x from -10 to 0: 513 int16 in units of 1/32768, the last for interpolation alone."""
    return _table(np.exp, _LOWEST, 0.0)


def reciprocals() -> np.ndarray:
    """1 / (1 + x) for x from 0 to 1, likewise."""
    return _table(lambda x: np.float32(1) / (np.float32(1) + x), 0.0, 1.0)


def allowed_difference(row: int) -> int:
    """By how much an output may differ from the exact softmax of a row of this many elements, in units of 1/32768.

    The least entry of the first table is 2, so that each element far below the largest still adds 2 to the sum, and
    takes as much from an output near 1.
    """
    return 2 * row


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
