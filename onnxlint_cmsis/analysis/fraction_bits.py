"""Numbers of q7 and q15: an integer of 8 or 16 bits times a power of two."""

from __future__ import annotations

from math import floor, isfinite, log2

from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_BITS = 31
"""Most useful fraction bits: sums have 32 bits."""


class RealRange(NamedTuple):
    """Least and largest number of a tensor."""

    low: float
    """Least."""
    high: float
    """Largest."""


def fraction_bits(values: RealRange, bits: int) -> int | None:
    """Most fraction bits with which every rounded number fits `bits` bits; None for numbers that are not finite.

    A tensor of zeros gets `bits - 1`, as for numbers up to 1.
    """
    if not (isfinite(values.low) and isfinite(values.high)):
        return None
    magnitude = max(abs(values.low), abs(values.high))
    if magnitude == 0:
        return bits - 1
    fraction = min(bits - floor(log2(magnitude)), MOST_BITS)
    while not _fits(values, fraction, bits):
        fraction -= 1
    return fraction


def _fits(values: RealRange, fraction: int, bits: int) -> bool:
    largest = 1 << (bits - 1)
    return round(values.high * 2.0**fraction) <= largest - 1 and round(values.low * 2.0**fraction) >= -largest


class Shifts(NamedTuple):
    """Matching fraction bits of a layer, with its shifts."""

    bias: int
    """Fraction bits of the bias, at most those of a product."""
    output: int
    """Fraction bits of the output, at most those of a product."""
    bias_shift: int
    """Bits that the bias is shifted to the left."""
    out_shift: int
    """Bits that the sum is shifted to the right."""


def shifts(source: int, weights: int, bias: int, output: int) -> Shifts:
    """Shifts from the fraction bits of input, weights, bias and output; neither is below 0."""
    product = source + weights
    bias, output = min(bias, product), min(output, product)
    return Shifts(bias, output, product - bias, product - output)
