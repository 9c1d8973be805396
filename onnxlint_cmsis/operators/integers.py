"""How kernels requantize integers, and how long their sums may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from onnxlint_cmsis.model import fixed_point

MOST_ELEMENTS = 1 << 20
"""Elements of the largest tensor whose elements are looked at one by one."""
OFFSETS = {"uint4": 8, "uint8": 128, "uint16": 32768}
"""What unsigned integers are less by on the device, which holds signed ones."""
BITS = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16}
"""Bits of the types that tensors are stored in."""
LONGEST_SUM = {4: 31, 8: 31, 16: 47}
"""Bits of a sum and its parts: int32; for int16 as MultiplyByQuantizedMultiplier(int64_t) asks (kernels/internal)."""


class NotCoveredError(Exception):
    """An operator, or a use of it, that is not described."""


def few(shape: Sequence[int]) -> int:
    """Elements of a tensor. Raises NotCoveredError where they are too many to be looked at."""
    whole = math.prod(size or 1 for size in shape)  # NumPy walks axes of a damaged tensor that has no elements too
    if whole > MOST_ELEMENTS:
        raise NotCoveredError(f"a tensor has {whole:,} elements; {MOST_ELEMENTS:,} are looked at")
    return math.prod(shape)


@lru_cache(maxsize=1 << 14)
def quantized_multiplier(real: float) -> fixed_point.Multiplier:
    """Return the multiplier of a factor. Raises NotCoveredError for what is none: 0, infinity, 2**30 or more."""
    multiplier = fixed_point.quantize_multiplier(real) if 0 < real < math.inf else None
    if multiplier is None or multiplier.shift > 30:
        raise NotCoveredError(f"its factor is {real}")
    return multiplier


OFF_BY = (1.0, 1 - 2.0**-23, 1 + 2.0**-23)
"""Factors between what kernels multiply by: some compute it in float32, with up to two roundings, some in float64."""


def multipliers(real: float) -> list[fixed_point.Multiplier]:
    """Multipliers and shifts of all that kernels may compute of one factor. Raises NotCoveredError.

    A power of two comes out of every order and precision of products and quotients.
    """
    ways = OFF_BY[:1] if math.frexp(real)[0] == 0.5 else OFF_BY
    return [*dict.fromkeys(quantized_multiplier(real * off) for off in ways)]


def requantized(value: int, multiplier: int, shift: int, bits: int) -> tuple[int, ...]:
    """A sum times multiplier * 2**(shift - 31), by each way of rounding that a device may be built for.

    Two roundings (the default), one (TFLITE_SINGLE_ROUNDING, CMSIS_NN_USE_SINGLE_ROUNDING) and, for int16, one with a
    multiplier of 16 bits. All are monotone in the sum. Raises NotCoveredError where the shift to the left overflows.
    """
    factor = fixed_point.Multiplier(multiplier, shift)
    if bits == 16:
        return (fixed_point.requantize_wide(value, factor),)
    if not -(2**31) <= value << max(shift, 0) < 2**31:
        raise NotCoveredError("its shift to the left overflows")
    return fixed_point.requantize(value, factor), fixed_point.requantize_once(value, factor)


Steps = Sequence[Sequence[int]]
"""What the least and the greatest integer come out as, by each way of rounding."""


def sum_steps(low: int, high: int, factor: float, bits: int) -> Steps | None:
    """The ends of a sum times a factor, by each way of computing it and rounding; None where a shift overflows."""
    ways = {bits, 8} if max(abs(low), abs(high)) < 2**31 else {bits}
    try:
        factors = multipliers(factor)
        return [
            [step for way in ways for near in factors for step in requantized(end, *near, way)] for end in (low, high)
        ]
    except NotCoveredError:
        return None
