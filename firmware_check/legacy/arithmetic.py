"""The functions for q7 and q15 in NumPy: sums of products, shifted and saturated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.evidence.exact_arithmetic import CallNumbers, summed, windows

if TYPE_CHECKING:
    from firmware_check.program import Elements
    from onnxlint_cmsis.ground.types import KernelCall


class QNumbers(NamedTuple):
    """The numbers of one call."""

    source: Elements
    """Input, NHWC."""
    weights: Elements
    """OHWI, 1HWO or [out_c, depth]; empty for layers without weights."""
    bias: Elements
    """A bias for each output channel."""
    bias_shift: int
    """Bits that the bias is shifted to the left."""
    out_shift: int
    """Bits that the sum is shifted to the right."""
    bits: int
    """Bits of input and output."""


def q_computed(call: KernelCall, numbers: QNumbers, dsp: bool) -> Elements:
    """The output of a call: integers, NHWC. With `dsp` average pooling divides twice, for columns and for rows."""
    stem = call.entry.rpartition("_")[0]
    if stem == "relu":
        return np.asarray(np.maximum(numbers.source, 0))
    if stem == "max_pool":
        low = -(1 << (numbers.bits - 1))
        return np.asarray(windows(call, numbers.source.astype(np.int64), low).max(axis=(3, 4)))
    if stem == "avgpool":
        data = numbers.source.astype(np.int64)
        ones = windows(call, np.ones_like(data), 0)
        seen = windows(call, data, 0)
        if not dsp:
            return _divided(seen.sum(axis=(3, 4)), ones.sum(axis=(3, 4)))
        rows = _divided(seen.sum(axis=4), np.maximum(ones.sum(axis=4), 1))
        return _divided(rows.sum(axis=3), ones.max(axis=4).sum(axis=3))
    operands = CallNumbers(numbers.source, numbers.weights, None, (), 0, 0, numbers.bits)
    sums = summed(stem_of_sums(stem), call, operands)
    half = (1 << numbers.out_shift) >> 1
    result = (sums + (numbers.bias.astype(np.int64) << numbers.bias_shift) + half) >> numbers.out_shift
    return np.asarray(np.clip(result, -(1 << (numbers.bits - 1)), (1 << (numbers.bits - 1)) - 1))


def stem_of_sums(stem: str) -> str:
    """Stem of the layer that a function called by name computes."""
    if stem.startswith("depthwise"):
        return "depthwise"
    return "fully_connected" if stem.startswith("fully_connected") else "convolve"


def _divided(sums: Elements, counts: Elements) -> Elements:
    """Division as in C."""
    return np.asarray(np.sign(sums) * (np.abs(sums) // np.maximum(counts, 1)))
