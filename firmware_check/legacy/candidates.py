"""Candidate calls of the functions for q7 and q15, smallest first, with sizes around every limit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from firmware_check.evidence.call_layer import work
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.windows import padding_for, places

_DRAWN = 4000


_BEYOND = 130
"""A size that a signed byte does not hold."""


_CHOICES = (
    "convolve_q7", "convolve_q15", "depthwise_q7", "fully_connected_q7", "fully_connected_q15", "fully_connected_q7q15",
    "max_pool_q7", "avgpool_q7", "relu_q7", "relu_q15",
)  # fmt: skip


_ALONE = (
    "convolve_HWC_q7_fast", "convolve_HWC_q7_fast_nonsquare", "convolve_HWC_q7_RGB",
    "convolve_1x1_HWC_q7_fast_nonsquare", "convolve_HWC_q15_fast", "convolve_HWC_q15_fast_nonsquare",
)  # fmt: skip
"""Functions called by name, since a choice never reaches what they refuse or compute wrongly."""


LEGACY_POOL = (*_CHOICES, *_ALONE)
"""Entry points with candidate calls."""


class _Axis(NamedTuple):
    """One axis of a window."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    output: int


@cache
def legacy_pool(entry: str) -> tuple[KernelCall, ...]:
    """Calls of an entry point, smallest first."""
    generator = random.Random(f"{entry} 1")
    drawn = {call for _ in range(_DRAWN) for call in _drawn(entry, generator)}
    return tuple(sorted({*drawn, *_large(entry)}, key=lambda call: (work(call), call)))


def _drawn(entry: str, generator: random.Random) -> Iterator[KernelCall]:
    if entry.startswith("fully_connected"):
        depth, out_c = generator.choice((1, 2, 3, 4, 5, 7, 16)), generator.choice((1, 3, 4, 6, 9))
        yield KernelCall(entry, Dims(1, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(1, 1, 1, out_c))
        return
    if entry.startswith("relu"):
        yield _relu(entry, generator.choice((1, 3, 4, 9, 64)))
        return
    square = entry in ("convolve_HWC_q7_fast", "convolve_HWC_q7_RGB", "convolve_HWC_q15_fast")
    high = _axis(generator, "pool" in entry)
    wide = high if square or generator.random() < 0.6 else _axis(generator, "pool" in entry)
    if min(high.output, wide.output) >= 1 and max(high.before, wide.before) < 6:
        yield _of_axes(entry, high, wide, generator)


def _axis(generator: random.Random, pooling: bool) -> _Axis:
    pick = generator.choice
    size, kernel, stride = pick((1, 2, 3, 4, 5, 6, 8, 9)), pick((1, 1, 2, 3, 3, 5)), pick((1, 1, 2, 3))
    before, after = pick((0, 0, 1, 1, 2, 3)), pick((0, 0, 1, 1, 2))
    before, after = min(before, kernel - 1), min(after, kernel - 1 if pooling else kernel)
    return _Axis(size, kernel, stride, before, after, max(places(size, kernel, stride, before, after), 0))


def _of_axes(entry: str, high: _Axis, wide: _Axis, generator: random.Random) -> KernelCall:
    in_c, out_c = generator.choice((1, 2, 3, 4, 4, 5, 6, 7, 8)), generator.choice((1, 2, 3, 4, 6))
    multiplier = 0
    if "pool" in entry:
        out_c = in_c
    if entry.startswith("depthwise"):
        out_c, multiplier = (in_c, 1) if generator.random() < 0.9 else (2 * in_c, 2)
    kernel = Dims(
        1 if multiplier or "pool" in entry else out_c, high.kernel, wide.kernel, out_c if multiplier else in_c
    )
    after = (padding_for(axis.output, axis.size, axis.kernel, axis.stride) - axis.before for axis in (high, wide))
    return KernelCall(
        entry, Dims(1, high.size, wide.size, in_c), kernel, Dims(1, high.output, wide.output, out_c),
        Pair(high.stride, wide.stride), Pair(high.before, wide.before), Pair(*after), ch_mult=multiplier,
    )  # fmt: skip


def _relu(entry: str, count: int) -> KernelCall:
    dims = Dims(1, 1, 1, count)
    return KernelCall(entry, dims, Dims(None, None, None, None), dims)


def _large(entry: str) -> Iterator[KernelCall]:
    """Planes beyond 127, and more elements than 16 bits count."""
    if entry.startswith("relu"):
        yield _relu(entry, 65_540)
    if entry.startswith("convolve"):
        for size, in_c, out_c, k in (
            (130, 3, 1, 1),
            (130, 3, 1, 3),
            (130, 4, 2, 3),
            (130, 1, 1, 1),
            (130, 2, 2, 3),
            (130, 2, 2, 1),
        ):
            out = size - k + 1
            yield KernelCall(entry, Dims(1, size, size, in_c), Dims(out_c, k, k, in_c), Dims(1, out, out, out_c))
        for in_c, out_c in ((1, 1), (2, 2), (4, 2)):
            yield KernelCall(entry, Dims(1, 1, _BEYOND, in_c), Dims(out_c, 1, 3, in_c), Dims(1, 1, _BEYOND - 2, out_c))
