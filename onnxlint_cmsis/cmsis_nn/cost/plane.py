"""How the windows of a layer meet the padding: counts over the output plane that no channel count changes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

AxisSizes = tuple[int, int, int, int, int, int]
"""Outputs, stride, padding before, filter size, dilation and input size along one axis."""

PLANES = 4096
"""Planes remembered: models have fewer different ones."""


class Axis(NamedTuple):
    """One axis, added up over its output positions."""

    before: int
    """Filter taps that fall in the padding before."""
    inside: int
    """Filter taps that fall on the input."""
    after: int
    """Filter taps that fall in the padding after."""
    whole: int
    """Positions whose first and last taps fall on the input."""
    cut_before: int
    """Positions whose first tap alone does not."""
    cut_after: int
    """Positions whose last tap alone does not."""
    cut_both: int
    """Positions where neither does."""


class Plane(NamedTuple):
    """Both axes."""

    h: Axis
    """Along the height."""
    w: Axis
    """Along the width."""
    @property
    def inside(self) -> int:
        """Taps of all windows that fall on the input."""
        return self.h.inside * self.w.inside


@lru_cache(maxsize=PLANES)
def plane(height: AxisSizes, width: AxisSizes) -> Plane:
    """The counts of one plane."""
    return Plane(_axis(*height), _axis(*width))


@lru_cache(maxsize=PLANES)
def padded_fours(height: AxisSizes, width: AxisSizes) -> int:
    """How many groups of four consecutive output pixels, as MVE kernels take them, have a tap in the padding."""
    columns = _padded(*width)
    flags = [row or column for row in _padded(*height) for column in columns]
    return sum(any(flags[first : first + 4]) for first in range(0, len(flags) - 3, 4))


def _axis(outputs: int, stride: int, padding: int, size: int, dilation: int, inputs: int) -> Axis:
    before = inside = 0
    ends = {(first, last): 0 for first in (True, False) for last in (True, False)}
    for start in range(-padding, outputs * stride - padding, stride):
        below = min(size, up(max(0, -start), dilation))
        within = min(size, up(max(0, inputs - start), dilation))
        before, inside = before + below, inside + max(0, within - below)
        ends[start >= 0, start + (size - 1) * dilation < inputs] += 1
    after = outputs * size - before - inside
    return Axis(before, inside, after, ends[True, True], ends[False, True], ends[True, False], ends[False, False])


def _padded(outputs: int, stride: int, padding: int, size: int, dilation: int, inputs: int) -> list[bool]:
    """Whether each output position has a tap outside the input."""
    reach = (size - 1) * dilation
    return [start < 0 or start + reach >= inputs for start in range(-padding, outputs * stride - padding, stride)]


def up(number: int, step: int) -> int:
    """How many steps cover a number."""
    return -(-number // step)
