"""The sizes of one call, or of many that differ in their channel counts, as plain numbers."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import AxisSizes, OddPlaces, Plane, odd_places, plane, whole_fours
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, KernelCall

Counts = dict[str, int]
"""How often each piece of a kernel runs; a piece is named `<function>.<loop>`.

A number may stand for many calls that differ in their channel counts: then it is an array of int64, an element for each
call. So the loops are counted without branches on channel counts.
"""


class FrontSizes(NamedTuple):
    """What a pad adds in front of its input."""

    n: int
    """Images."""
    h: int
    """Rows."""
    w: int
    """Columns."""
    c: int
    """Channels."""


class LoopSizes(NamedTuple):
    """Every size that a kernel's loops depend on, none of them unknown."""

    permutation: tuple[int, ...]
    """Which axis of the input each axis of a transpose's output is."""
    pad_front: FrontSizes
    """What a pad adds in front."""
    time_major: bool
    """Whether an LSTM takes a step of all sequences before the next one."""
    aligned: bool
    """Whether the CPU loads words at multiples of 4 alone (Armv6-M and Armv8-M Baseline)."""
    runs: tuple[int, ...]
    """Numbers of each operand of a concatenation that follow each other in the output."""
    weight_offset: bool
    """Whether the weights, or the right side of a product of matrices, have a zero-point other than 0."""
    n: int
    """Images, or rows of a fully connected layer."""
    in_h: int
    """Input height."""
    in_w: int
    """Input width."""
    in_c: int
    """Input channels; depth of a fully connected layer."""
    filter_h: int
    """Filter height."""
    filter_w: int
    """Filter width."""
    filter_c: int
    """Channels of a filter, last of its dims."""
    out_h: int
    """Output height."""
    out_w: int
    """Output width."""
    out_c: int
    """Output channels."""
    stride_h: int
    """Stride along the height."""
    stride_w: int
    """Stride along the width."""
    pad_h: int
    """Padding before along the height."""
    pad_w: int
    """Padding before along the width."""
    dilation_h: int
    """Dilation along the height."""
    dilation_w: int
    """Dilation along the width."""
    ch_mult: int
    """Depthwise channel multiplier, 0 for other layers."""
    filter_n: int
    """First size of the filter, or of a second operand."""
    out_n: int
    """Images of the output."""

    @property
    def image(self) -> tuple[int, int, int, int]:
        """Sizes of the input, NHWC."""
        return self.n, self.in_h, self.in_w, self.in_c

    @property
    def second(self) -> tuple[int, int, int, int]:
        """Sizes of a second operand, NHWC."""
        return self.filter_n, self.filter_h, self.filter_w, self.filter_c

    @property
    def output(self) -> tuple[int, int, int, int]:
        """Sizes of the output, NHWC."""
        return self.out_n, self.out_h, self.out_w, self.out_c

    @property
    def pixels(self) -> int:
        """Output pixels of one image."""
        return self.out_h * self.out_w

    @property
    def taps(self) -> int:
        """Filter taps of one window."""
        return self.filter_h * self.filter_w

    @property
    def depth(self) -> int:
        """Elements of one window."""
        return self.taps * self.in_c

    @property
    def plane(self) -> Plane:
        """How the window meets the padding."""
        return plane(self._height, self._width)

    @property
    def fours(self) -> tuple[int, int]:
        """Groups of four consecutive output pixels with every tap on the input, and groups with one in the padding."""
        whole = whole_fours(self._height, self._width)
        return whole, self.pixels // 4 - whole

    @property
    def odd_places(self) -> OddPlaces:
        """How many taps lie in odd places of the image, and of the columns of windows."""
        return odd_places(self._height, self._width)

    @property
    def _height(self) -> AxisSizes:
        return AxisSizes(self.out_h, self.stride_h, self.pad_h, self.filter_h, self.dilation_h, self.in_h)

    @property
    def _width(self) -> AxisSizes:
        return AxisSizes(self.out_w, self.stride_w, self.pad_w, self.filter_w, self.dilation_w, self.in_w)


SHORT = 512
"""Products of a sum that the s16 kernels add in 32 bits; those behind them in 64 (MAX_COL_COUNT)."""
LONGEST = 1 << 20
"""Largest size, stride, padding or dilation of windows that are counted one by one; no Cortex-M holds more."""
OTHER_IMAGES = (
    *("maximum_s8", "minimum_s8", "pad_s8", "svdf_s8", "svdf_state_s16_s8"),
    *("batch_matmul_s8", "batch_matmul_s16"),
)
"""Entry points whose output, second operand or filter may have another number of images than the input."""
_NO_FILTER = Dims(1, 1, 1, 1)


def sizes_of(call: KernelCall, *, aligned: bool = False) -> LoopSizes | None:
    """The sizes of a call; None where one is unknown, or where they are too large to count position by position.

    An entry point without a filter has one of 1x1. `aligned`: on a CPU that loads words at multiples of 4 alone.
    """
    image, out, stride, pad = call.input_dims, call.output_dims, call.stride, call.padding
    kernel = _NO_FILTER if call.filter_dims.h is None and call.filter_dims.w is None else call.filter_dims
    many = call.entry in OTHER_IMAGES
    numbers = (
        image.n, image.h, image.w, image.c, kernel.h, kernel.w, kernel.c, out.h, out.w, out.c,
        stride.h, stride.w, pad.h, pad.w, call.dilation.h, call.dilation.w, call.ch_mult,
        kernel.n if many else 1, out.n if many else image.n,
    )  # fmt: skip
    known = tuple(number for number in numbers if number is not None)
    front = tuple(number for number in call.pad_front if number is not None)
    if len(known) < len(numbers) or len(front) < len(call.pad_front):
        return None
    windows = known[4:6] + known[7:9] + known[10:16]
    damaged = any(isinstance(size, int) and size < 0 for size in known[:10] + known[17:])  # others are many at once
    if damaged or max(map(abs, windows)) > LONGEST:
        return None
    front_sizes = FrontSizes(*front)
    return LoopSizes(call.permutation, front_sizes, call.time_major, aligned, call.runs, call.weight_offset, *known)


def add(counts: Counts, more: Counts, turns: int | None = None) -> None:
    """Add counts to counts, `turns` times, or once."""
    for name, times in more.items():
        counts[name] = counts.get(name, 0) + (times if turns is None else turns * times)


def by_rest(name: str, times: int, size: int, divisor: int, word: str = "rest") -> list[tuple[str, int]]:
    """`times` under the name of what the division of `size` leaves, `<name>.<word>_<rest>`; 0 under the others."""
    rest = size % divisor
    return [(f"{name}.{word}_{rest_of_turn}", times * (rest == rest_of_turn)) for rest_of_turn in range(divisor)]
