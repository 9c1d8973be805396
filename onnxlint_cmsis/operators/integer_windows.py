"""Windows: which place of the plane each place of the window reads for each place of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.windows import places, reach, same_padding, same_places
from onnxlint_cmsis.operators.integers import MOST_ELEMENTS, NotCoveredError, few

if TYPE_CHECKING:
    from onnxlint_cmsis.model.intervals import Array


class Window(NamedTuple):
    """How a window slides along the plane; a number for each spatial axis."""

    kernel: tuple[int, ...]
    """Sizes."""
    strides: tuple[int, ...]
    """Steps."""
    dilations: tuple[int, ...]
    """Distances between its places."""
    before: tuple[int, ...]
    """Padding in front."""
    sizes: tuple[int, ...]
    """Sizes of the plane it slides along."""
    result_sizes: tuple[int, ...]
    """Sizes of the result."""
    transposed: bool = False
    """Whether each place of the plane is spread over the result, as a transposed convolution does."""
    ahead: tuple[int, ...] = ()
    """Places of padding that a Pad in front has put before the plane; empty for none."""

    def sources(self, axis: int) -> Array:
        """Place of the plane along an axis, [kernel, result]; -1 where there is none."""
        stride, result = self.strides[axis], np.arange(self.result_sizes[axis])[None, :]
        taps = np.arange(self.kernel[axis])[:, None] * self.dilations[axis] - self.before[axis]
        inside = np.ones((taps.size, result.size), bool)
        if self.transposed:
            inside, places = (result - taps) % stride == 0, (result - taps) // stride
        else:
            places = result * stride + taps
        places = places - (self.ahead[axis] if self.ahead else 0)
        return np.where(inside & (places >= 0) & (places < self.sizes[axis]), places, -1)

    def without(self, axis: int) -> Window:
        """The same window along the other axes of the plane."""
        numbers = (part[:axis] + part[axis + 1 :] for part in (*self[:6], self.ahead))
        kernel, strides, dilations, before, sizes, result_sizes, ahead = numbers
        return Window(kernel, strides, dilations, before, sizes, result_sizes, self.transposed, ahead)


class Taps(NamedTuple):
    """The places of a window over its plane."""

    names: list[tuple[Any, ...]]
    """What each reads for every place of the result: equal names, equal places. `()` for the place of the result."""
    inside: list[Array]
    """Whether a place lies inside the plane, for each axis: [kernel, result]."""
    patterns: list[Array]
    """The same, each pattern of places once."""
    meets: Array
    """Whether some place of the result has the tap inside the plane."""

    @property
    def covers(self) -> bool:
        """Tell whether each place of the result has some tap inside the plane."""
        return all(bool(part.any(axis=0).all()) for part in self.inside)

    def spread(self, numbers: Array, *, whole: bool) -> Array:
        """The sum of [rows, taps] over the taps inside the plane: [rows, places of the result], or each once."""
        parts = self.inside if whole else self.patterns
        few([len(numbers), *(part.shape[1] for part in parts)])
        sums = numbers.reshape(len(numbers), *(len(part) for part in parts))
        for part in parts:
            sums = np.tensordot(sums, part.astype(np.int64), axes=([1], [0]))
        return sums.reshape(len(numbers), -1)

    def border(self, numbers: Array) -> tuple[list[int], dict[int, Array]]:
        """What [groups, rows, taps] add at every place of the result, by row, and what some places add above that."""
        base, above = [0] * (numbers.shape[0] * numbers.shape[1]), {}
        for group in np.flatnonzero(numbers.any(axis=(1, 2))).tolist():
            for row, added in enumerate(self.spread(numbers[group], whole=True), group * numbers.shape[1]):
                base[row] = int(added.min())
                if (added != base[row]).any():
                    above[row] = added - base[row]
        return base, above

    def ends(self, constant: Array, weights: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Least and greatest sum at any place of lanes [groups, lanes] between two ends, with what constants add.

        `constant` is [groups, rows, taps], `weights` [groups, rows, lanes, taps].
        """
        count = weights.shape[1] * math.prod(part.shape[1] for part in self.patterns)
        step, sides = max(1, MOST_ELEMENTS // max(count, 1)), []
        for first, second, pick in ((low, high, np.min), (high, low, np.max)):
            sums = constant + np.einsum("gcit,gi->gct", np.maximum(weights, 0), first)
            sums += np.einsum("gcit,gi->gct", np.minimum(weights, 0), second)
            parts = [sums[start : start + step].reshape(-1, sums.shape[2]) for start in range(0, len(sums), step)]
            sides.append(np.concatenate([pick(self.spread(part, whole=False), axis=1) for part in parts]))
        return sides[0], sides[1]


@lru_cache(maxsize=4)
def taps_of(window: Window) -> Taps:
    """The places of a window, in the order of its weights. Raises NotCoveredError."""
    few((*window.kernel, max(window.result_sizes, default=1)))
    sources = [window.sources(axis) for axis in range(len(window.kernel))]
    rows = [
        [(size, row.tobytes()) if size > 1 or row.size > 1 or row.any() else () for row in places]
        for size, places in zip(window.sizes, sources, strict=True)
    ]
    still = [(size, np.arange(size).tobytes()) if size > 1 else () for size in window.sizes]
    names: list[tuple[Any, ...]] = []
    for tap in np.ndindex(*window.kernel):
        read = [rows[axis][position] for axis, position in enumerate(tap)]
        names.append(() if read == still else tuple(filter(None, read)))
    inside, meets = [places >= 0 for places in sources], np.ones(1, bool)
    for part in inside:
        meets = (meets[:, None] & part.any(axis=1)).reshape(-1)
    return Taps(names, inside, [np.unique(part, axis=1) for part in inside], meets)


def window_of(
    node: Node, kernel: Sequence[int], sizes: Sequence[int], result_sizes: Sequence[int], *, transposed: bool = False
) -> Window:
    """The window of a convolution or pooling; a transposed one pads as the convolution back does.

    Raises NotCoveredError.
    """
    rank, ones, none = len(kernel), (1,) * len(kernel), (0,) * len(kernel)
    if node.domain == TFLITE:
        strides: tuple[int, ...] = (node.int("stride_h"), node.int("stride_w"))
        dilations: tuple[int, ...] = (node.int("dilation_h_factor", 1), node.int("dilation_w_factor", 1))
        pads, same = (*none, *none), node.text("padding") == "SAME"
    else:
        strides, dilations = node.ints("strides", ones), node.ints("dilations", ones)
        pads, auto = node.ints("pads") or (*none, *none), node.text("auto_pad", "NOTSET")
        same, pads = auto == "SAME_UPPER", (*none, *none) if auto == "VALID" else pads
        if auto not in ("NOTSET", "VALID", "SAME_UPPER") or (transposed and auto != "NOTSET"):
            raise NotCoveredError(f"its padding is {auto}")
    spans = [reach(size, step) for size, step in zip(kernel, dilations, strict=True)]
    if not len(strides) == len(sizes) == len(result_sizes) == rank or min((1, *strides, *dilations)) < 1:
        raise NotCoveredError("its window does not fit its plane")
    slid, reached = (result_sizes, sizes) if transposed else (sizes, result_sizes)
    ends = [*zip(slid, strides, spans, strict=True)]
    if same:
        wanted = [same_places(size, stride) for size, stride, _ in ends]
        before = tuple(same_padding(size, span, stride)[0] for size, stride, span in ends)
    else:
        before, around = tuple(pads[:rank]), [pads[n] + pads[n + len(pads) // 2] for n in range(rank)]
        wanted = [places(size + more, span, stride) for (size, stride, span), more in zip(ends, around, strict=True)]
    further = int(node.int("ceil_mode") != 0)
    if any(not 0 <= size - least <= further for size, least in zip(reached, wanted, strict=True)):
        raise NotCoveredError("its result has another size than its window gives")
    return Window(tuple(kernel), strides, dilations, before, tuple(sizes), tuple(result_sizes), transposed)
