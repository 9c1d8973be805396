"""Calls of every entry point to choose from, small ones first: drawn at random from sizes around those that decide."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.evidence.call_layer import EXTREMES, work
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.model.windows import places, reach

if TYPE_CHECKING:
    pass


POOLED = (
    "convolve_s8", "convolve_s16", "convolve_s4", "depthwise_s8", "depthwise_s16", "depthwise_s4", "transpose_conv_s8",
    "fully_connected_s8", "fully_connected_s16", "avgpool_s8", "avgpool_s16", "max_pool_s8", "max_pool_s16",
    "transpose_s8", "maximum_s8", "minimum_s8",
)  # fmt: skip
"""Entry points whose calls are drawn."""
_NO_DIMS = Dims(1, 1, 1, 1)
_DRAWN = 6000
_MOST = 300_000
"""Elements of the largest call that is drawn."""


class _Plane(NamedTuple):
    """One axis of a window: input, kernel, stride, padding before and after, dilation, output."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    dilation: int
    output: int


@cache
def pool(entry: str) -> tuple[KernelCall, ...]:
    """Calls of an entry point, smallest first."""
    if entry == "transpose_s8":
        return tuple(sorted(_transposes(entry), key=work))
    if entry in EXTREMES:
        return tuple(sorted(broadcasts(entry, ((1, 1), (1, 3), (3, 1), (5, 5))), key=work))
    generator = random.Random(f"{entry} 1")
    drawn = {call for _ in range(_DRAWN) for call in _drawn(entry, generator) if work(call) <= _MOST}
    return tuple(sorted({*drawn, *_wide(entry)}, key=lambda call: (work(call), call)))


def _drawn(entry: str, generator: random.Random) -> Iterator[KernelCall]:
    stem = entry.rpartition("_")[0]
    if stem == "fully_connected":
        yield _dense(entry, generator)
        return
    flat = generator.random() < 0.35
    high = _plane(stem, generator, flat)
    wide = _plane(stem, generator, False)
    if high.output < 1 or wide.output < 1:
        return
    yield from _of_planes(entry, high, wide, generator)


def _plane(stem: str, generator: random.Random, single: bool) -> _Plane:
    pick = generator.choice
    if single:
        return _Plane(1, 1, pick((1, 1, 2)), 0, 0, 1, 1)
    size, kernel = pick((1, 2, 3, 4, 5, 6, 8, 9, 12, 16)), pick((1, 1, 2, 3, 3, 4, 5, 7))
    stride, dilation = pick((1, 1, 2, 2, 3)), pick((1, 1, 1, 1, 2))
    before, after = pick((0, 0, 1, 1, 2, 3, 5)), pick((0, 0, 1, 1, 2, 3, 5))
    if stem == "transpose_conv":
        more = pick((0, 0, 0, 1)) if stride > 1 else 0
        return _Plane(size, kernel, stride, before, after, 1, (size - 1) * stride + kernel - before - after + more)
    if stem in ("avgpool", "max_pool"):
        dilation = 1
    outputs = max(places(size, reach(kernel, dilation), stride, before, after), 0)
    return _Plane(size, kernel, stride, before, after, dilation, outputs)


def _of_planes(entry: str, high: _Plane, wide: _Plane, generator: random.Random) -> Iterator[KernelCall]:
    stem, pick = entry.rpartition("_")[0], generator.choice
    count, in_c = pick((1, 1, 1, 2)), pick((1, 1, 2, 3, 4, 4, 5, 6, 8, 12, 16, 17, 20, 60, 126, 130))
    multiplier = pick((1, 1, 2, 3, 4)) if stem == "depthwise" else 0
    if multiplier == 1 and generator.random() < 0.02:  # a multiplier that is none: kernels refuse it
        yield KernelCall(
            entry, Dims(1, high.size, wide.size, in_c), Dims(1, high.kernel, wide.kernel, in_c + 1),
            Dims(1, high.output, wide.output, in_c + 1), Pair(high.stride, wide.stride), Pair(high.before, wide.before),
            Pair(high.after, wide.after), ch_mult=1,
        )  # fmt: skip
    out_c = in_c * multiplier if multiplier else in_c if "pool" in stem else pick((1, 2, 3, 4, 5, 6, 8, 9))
    kernel = Dims(1, high.kernel, wide.kernel, out_c)
    if stem in ("convolve", "transpose_conv"):
        groups = pick([1, 1, *(g for g in (2, 3, 4) if in_c % g == 0)]) if stem == "convolve" else 1
        odd = stem == "convolve" and generator.random() < 0.03
        out_c = out_c if groups == 1 or odd else out_c * groups
        depth = pick((0, in_c + 1, max(1, in_c // 2))) if odd else in_c // groups
        kernel = Dims(out_c, high.kernel, wide.kernel, depth)
    yield KernelCall(
        entry, Dims(count, high.size, wide.size, in_c), kernel, Dims(count, high.output, wide.output, out_c),
        Pair(high.stride, wide.stride), Pair(high.before, wide.before), Pair(high.after, wide.after),
        Pair(high.dilation, wide.dilation), multiplier, bias="pool" in stem or generator.random() < 0.7,
    )  # fmt: skip


def _transposes(entry: str) -> Iterator[KernelCall]:
    """Axes around the sizes that 16 bits hold, and small ones in every order."""
    for sizes, order in (
        ((5, 7), (1, 0)), ((5, 7), (0, 1)), ((65540, 1), (1, 0)), ((65540, 2), (1, 0)), ((2, 65540), (1, 0)),
        ((8, 9363), (1, 0)), ((8, 9362), (1, 0)), ((3, 32769), (1, 0)), ((1, 2, 8, 9364), (0, 1, 3, 2)),
        ((1, 2, 8, 9360), (0, 1, 3, 2)),
        *(((2, 3, 4, 5), order) for order in permutations(range(4))),
        *(((3, 4, 5), order) for order in permutations(range(3)) if order != (0, 1, 2)),
    ):  # fmt: skip
        ones = (1,) * (4 - len(sizes))
        moved = (sizes[axis] for axis in order)
        yield KernelCall(entry, Dims(*ones, *sizes), _NO_DIMS, Dims(*ones, *moved), permutation=tuple(order))


def broadcasts(entry: str, pairs: tuple[tuple[int, int], ...]) -> Iterator[KernelCall]:
    """Every two shapes whose sizes along each axis are one of the pairs."""
    for axes in product(pairs, repeat=4):
        first, second = zip(*axes, strict=True)
        yield KernelCall(entry, Dims(*first), Dims(*second), Dims(*map(max, axes)))


def _dense(entry: str, generator: random.Random) -> KernelCall:
    count, depth, out_c = (generator.choice(sizes) for sizes in ((1, 1, 3), (1, 4, 13, 16, 40), (1, 3, 4, 9)))
    channels = None if entry.endswith("s16") else generator.random() < 0.5
    return KernelCall(
        entry, Dims(count, 1, 1, depth), Dims(depth, 1, 1, out_c), Dims(count, 1, 1, out_c), per_channel=channels,
        bias=generator.random() < 0.7,
    )  # fmt: skip


def _wide(entry: str) -> Iterator[KernelCall]:
    """Calls beyond 16 bits, beyond 512 columns, and other sizes that chance does not meet."""
    if entry == "convolve_s8":
        for in_c, taps, width, step in (
            (65540, 1, 2, 1), (65539, 1, 1, 3), (65540, 1, 1, 3), (32770, 2, 2, 1), (32770, 2, 3, 1),
            (262148, 1, 1, 3), (87386, 3, 3, 1), (3, 3, 65539, 1), (1, 3, 65600, 1), (2, 3, 65538, 1),
        ):  # fmt: skip
            height = 3 if step == 3 else 1
            out_w = (width - taps) // step + 1
            yield KernelCall(
                entry, Dims(1, height, width, in_c), Dims(1, 1 if step == 1 else 2, taps, in_c),
                Dims(1, (height - (1 if step == 1 else 2)) // step + 1, out_w, 1), Pair(step, step),
            )  # fmt: skip
        yield KernelCall(entry, Dims(1, 1, 65542, 4), Dims(1, 1, 3, 4), Dims(1, 1, 65540, 1))
    if entry == "convolve_s4":
        yield from _wide_s4(entry)
    if entry.startswith("depthwise"):
        yield from _wide_depthwise(entry)
    if entry == "depthwise_s8":
        yield KernelCall(entry, Dims(1, 4, 4, 1), Dims(1, 3, 3, 2), Dims(1, 2, 2, 2), ch_mult=1)
    if entry == "convolve_s16":
        for in_c, out_c, width in ((58, 1, 5), (61, 3, 5), (60, 3, 5), (66, 5, 5), (57, 3, 5)):
            yield KernelCall(entry, Dims(1, 5, width, in_c), Dims(out_c, 3, 3, in_c), Dims(1, 3, width - 2, out_c))
    if entry == "convolve_s8":
        for bias in (True, False):
            yield KernelCall(entry, Dims(1, 1, 9, 8), Dims(4, 1, 3, 2), Dims(1, 1, 7, 4), bias=bias)


def _wide_s4(entry: str) -> Iterator[KernelCall]:
    """Rows beyond 65,535 for each kernel, columns beyond what a 16-bit count of 2 or 4 holds, many outputs."""
    for height, taps, out_w in ((2, 3, 32769), (3, 3, 32769)):
        yield KernelCall(
            entry, Dims(1, height, 65539, 1), Dims(1, height, taps, 1), Dims(1, 1, out_w, 1), Pair(2, 2)
        )  # fmt: skip
    yield KernelCall(entry, Dims(1, 1, 65542, 4), Dims(1, 1, 3, 4), Dims(1, 1, 65540, 1))
    for height, in_c in ((3, 43700), (5, 52430)):
        yield KernelCall(entry, Dims(1, height, 1, in_c), Dims(1, height, 1, in_c), Dims(1, 1, 1, 1))
    yield KernelCall(entry, Dims(1, 2, 2, 1), Dims(65540, 2, 2, 1), Dims(1, 1, 1, 65540))


def _wide_depthwise(entry: str) -> Iterator[KernelCall]:
    """Windows that start beyond 32,767, and more than 65,536 channels."""
    for multiplier in (1, 2):
        out_c = 2 * multiplier
        yield KernelCall(
            entry, Dims(1, 1, 32774, 2), Dims(1, 1, 3, out_c), Dims(1, 1, 32772, out_c), ch_mult=multiplier
        )  # fmt: skip
    yield KernelCall(entry, Dims(1, 2, 1, 65544), Dims(1, 2, 1, 65544), Dims(1, 1, 1, 65544), ch_mult=1)
