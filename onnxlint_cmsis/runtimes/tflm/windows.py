"""Shapes as CMSIS-NN takes them, and the padding that SAME and VALID give (lite/kernels/padding.h)."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, Pair
from onnxlint_cmsis.model.windows import halves, padding_for, places, reach, same_places

NO_FILTER = Dims(None, None, None, None)
"""Filter of a call that has none."""
UNDILATED = Pair(1, 1)


class WindowPadding(NamedTuple):
    """Padding of a window that slides over an image."""

    before: Pair
    """Rows and columns before."""
    after: Pair
    """Rows and columns after."""


def _along(padding: str, size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    if stride <= 0:
        return 0, 0
    span = reach(kernel, dilation)
    outputs = same_places(size, stride) if padding == "SAME" else places(size, span, stride)
    return halves(max(padding_for(outputs, size, span, stride), 0))


def window(padding: str, size: Pair, kernel: Pair, stride: Pair, dilation: Pair = UNDILATED) -> WindowPadding:
    """Padding for an image of `size`; every pair is (height, width) in elements."""
    top, bottom = _along(padding, size.h or 0, kernel.h or 0, stride.h or 0, dilation.h or 0)
    left, right = _along(padding, size.w or 0, kernel.w or 0, stride.w or 0, dilation.w or 0)
    return WindowPadding(Pair(top, left), Pair(bottom, right))


def activation_dims(shape: tuple[int, ...]) -> Dims:
    """A shape as it lies in memory: ones in front, and more than four axes folded into the first."""
    sizes = (1,) * (4 - len(shape)) + shape
    return Dims(prod(sizes[:-3]), *sizes[-3:])
