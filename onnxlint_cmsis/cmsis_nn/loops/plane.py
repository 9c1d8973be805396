"""How windows meet the padding, counted over the output plane; channels do not matter."""

from __future__ import annotations

from functools import lru_cache

from onnxlint_cmsis.ground.named_tuples import NamedTuple

PLANES = 4096
"""Planes remembered: models have fewer different ones."""


class AxisSizes(NamedTuple):
    """The sizes of a layer along one axis."""

    outputs: int
    """Output positions."""
    stride: int
    """Stride."""
    padding: int
    """Padding before."""
    size: int
    """Filter taps."""
    dilation: int
    """Dilation."""
    inputs: int
    """Input size."""

    @property
    def reach(self) -> int:
        """From the first tap of a window to its last."""
        return (self.size - 1) * self.dilation

    @property
    def starts(self) -> range:
        """Where the first tap of each window falls on the input."""
        return range(-self.padding, self.outputs * self.stride - self.padding, self.stride)


class AxisTaps(NamedTuple):
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
    outside: int
    """Positions without a tap on the input."""
    with_four: int
    """Positions with four taps or more on the input."""
    past_four: int
    """Those of them with more."""


class Plane(NamedTuple):
    """Both axes."""

    h: AxisTaps
    """Along the height."""
    w: AxisTaps
    """Along the width."""

    @property
    def inside(self) -> int:
        """Taps of all windows that fall on the input."""
        return self.h.inside * self.w.inside


@lru_cache(maxsize=PLANES)
def plane(height: AxisSizes, width: AxisSizes) -> Plane:
    """The counts of one plane."""
    return Plane(_axis(height), _axis(width))


@lru_cache(maxsize=PLANES)
def whole_fours(height: AxisSizes, width: AxisSizes) -> int:
    """How many groups of four consecutive output pixels, as MVE kernels take them, have no tap in the padding."""
    first_row, last_row = _whole(height)
    first, last = _whole(width)
    columns = width.outputs
    if (first, last) == (0, columns):
        return _fours(first_row * columns, last_row * columns)
    turns = min(4, last_row - first_row)
    return sum(
        _fours(row * columns + first, row * columns + last) * up(last_row - row, 4)
        for row in range(first_row, first_row + turns)
    )


def _fours(first: int, last: int) -> int:
    """Groups of four within a run of pixels."""
    return max(0, last // 4 - up(first, 4))


def _whole(axis: AxisSizes) -> tuple[int, int]:
    """The run of output positions whose taps all fall on the input: first, and the one after the last."""
    first = min(axis.outputs, up(axis.padding, axis.stride))
    last = (axis.inputs - 1 - axis.reach + axis.padding) // axis.stride + 1
    return first, max(first, min(axis.outputs, last))


def _axis(axis: AxisSizes) -> AxisTaps:
    first, last = (min(max(0, position), len(axis.starts)) for position in _whole(axis))
    before, inside, outside = 0, (last - first) * axis.size, 0
    with_four, past_four = ((last - first) * (axis.size >= taps) for taps in (4, 5))
    ends = {(True, True): last - first, (False, True): 0, (True, False): 0, (False, False): 0}
    for start in (*axis.starts[:first], *axis.starts[last:]):
        below = min(axis.size, up(max(0, -start), axis.dilation))
        within = min(axis.size, up(max(0, axis.inputs - start), axis.dilation))
        met = max(0, within - below)
        before, inside, outside = before + below, inside + met, outside + (met == 0)
        with_four, past_four = with_four + (met >= 4), past_four + (met >= 5)
        ends[start >= 0, start + axis.reach < axis.inputs] += 1
    after = axis.outputs * axis.size - before - inside
    cut = ends[False, True], ends[True, False], ends[False, False]
    return AxisTaps(before, inside, after, ends[True, True], *cut, outside, with_four, past_four)


OddPlaces = tuple[tuple[int, int], tuple[int, int]]
"""Taps of all windows that fall on the input: [1 where the place in the image is odd][1 where that in the columns is].

Both count pixels. Columns hold the windows of two outputs, one after the other; the next two take their place.
"""


@lru_cache(maxsize=PLANES)
def odd_places(height: AxisSizes, width: AxisSizes) -> OddPlaces:
    """How many taps lie in odd places, which decides the alignment of 16-bit values with an odd number of channels."""
    taps = height.size * width.size
    rows = _odd_along(height, width.inputs, width.outputs * taps, width.size)
    columns = _odd_along(width, 1, taps, 1)

    def both(source: int, target: int) -> int:
        return sum(rows[a][b] * columns[a ^ source][b ^ target] for a in (0, 1) for b in (0, 1))

    return (both(0, 0), both(0, 1)), (both(1, 0), both(1, 1))


def _odd_along(axis: AxisSizes, input_step: int, output_step: int, tap_step: int) -> list[list[int]]:
    """The share of one axis in both places; the steps lead from an input, an output and a tap to the next."""
    counts = [[0, 0], [0, 0]]
    for tap in range(axis.size):
        start = tap * axis.dilation - axis.padding
        first, end = (min(max(0, up(position - start, axis.stride)), axis.outputs) for position in (0, axis.inputs))
        for output in (0, 1):
            source = (output * axis.stride + start) * input_step % 2
            target = (output * output_step + tap * tap_step) % 2
            counts[source][target] += up(end - output, 2) - up(first - output, 2)
    return counts


def up(number: int, step: int) -> int:
    """How many steps cover a number."""
    return -(-number // step)
