"""Loops that kernels share: the sizes they depend on, and how often each part turns."""

from __future__ import annotations

from functools import lru_cache

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, Isa, KernelCall

# Counts over the output plane of how windows meet the padding; they do not depend on channels.


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
    before, inside = 0, (last - first) * axis.size
    ends = {(True, True): last - first, (False, True): 0, (True, False): 0, (False, False): 0}
    for start in (*axis.starts[:first], *axis.starts[last:]):
        below = min(axis.size, up(max(0, -start), axis.dilation))
        within = min(axis.size, up(max(0, axis.inputs - start), axis.dilation))
        before, inside = before + below, inside + max(0, within - below)
        ends[start >= 0, start + axis.reach < axis.inputs] += 1
    after = axis.outputs * axis.size - before - inside
    return AxisTaps(before, inside, after, ends[True, True], ends[False, True], ends[True, False], ends[False, False])


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


# The sizes of one call, or of many that differ in their channel counts, as plain numbers.


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


LONGEST = 1 << 20
"""Largest size, stride, padding or dilation of windows that are counted one by one; no Cortex-M holds more."""
OTHER_IMAGES = ("maximum_s8", "minimum_s8", "pad_s8", "svdf_s8", "svdf_state_s16_s8")
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
    return LoopSizes(call.permutation, FrontSizes(*front), call.time_major, aligned, *known)


def add(counts: Counts, more: Counts, turns: int | None = None) -> None:
    """Add counts to counts, `turns` times, or once."""
    for name, times in more.items():
        counts[name] = counts.get(name, 0) + (times if turns is None else turns * times)


def by_rest(name: str, times: int, size: int, divisor: int, word: str = "rest") -> list[tuple[str, int]]:
    """`times` under the name of what the division of `size` leaves, `<name>.<word>_<rest>`; 0 under the others."""
    rest = size % divisor
    return [(f"{name}.{word}_{rest_of_turn}", times * (rest == rest_of_turn)) for rest_of_turn in range(divisor)]


# memcpy and memset: arm_memcpy_s8 and arm_memset_s8 on MVE, the C library's elsewhere (newlib, by 16, 4 and 1).


def block(isa: Isa, name: str, times: int, size: int) -> Counts:
    """`times` calls that move or fill `size` bytes."""
    if isa is Isa.MVE:
        return {f"{name}.call": times, f"{name}.vector": times * up(size, 16)}
    return library_block(name, times, size)


def library_block(name: str, times: int, size: int) -> Counts:
    """`times` calls of the C library.

    It is slower on blocks that do not begin on a word, which those of a size not divisible by 4 do in turn.
    """
    counts: Counts = {}
    for case, calls in by_rest(name, times, size, 4):
        counts |= {
            f"{case}": calls,
            f"{case}.by_16": calls * (size // 16),
            f"{case}.by_16.enter": calls * (size >= 16),
            f"{case}.by_4": calls * (size % 16 // 4),
            f"{case}.from_4": calls * (size >= 4),
            f"{case}.from_8": calls * (size >= 8),
        }
    return counts


def widen(name: str, times: int, size: int) -> Counts:
    """`times` conversions of `size` values from 8 to 16 bits, by 4 and then one at a time."""
    counts = {f"{name}.by_4": times * (size // 4), f"{name}.by_4.enter": times * (size >= 4)}
    return counts | dict(by_rest(name, times, size, 4)[1:])


def library_fill(name: str, times: int, size: int, start: int) -> Counts:
    """`times` calls of the C library's memset on a block that begins at an address: bytes up to a word, then words."""
    head = -start % 4
    head = head - (head - size) * (head > size)
    rest = size - head
    return {
        name: times,
        f"{name}.head": times * head,
        f"{name}.head.enter": times * (head > 0),
        f"{name}.words.enter": times * (rest >= 4),
        f"{name}.by_16": times * (rest // 16),
        f"{name}.by_16.enter": times * (rest >= 16),
        f"{name}.by_4": times * (rest % 16 // 4),
        f"{name}.by_4.enter": times * (rest % 16 >= 4),
        f"{name}.tail": times * (rest % 4),
        f"{name}.tail.enter": times * (rest % 4 > 0),
    }


def copy_in_c(name: str, times: int, size: int, source: int, start: int) -> Counts:
    """`times` calls of the C library's memcpy in C, which a CPU runs that loads words at multiples of 4 alone.

    It goes byte by byte where an address is uneven or a block has under 16 bytes, else by 16, 4 and 1.
    """
    words = times * (source % 4 == 0) * (start % 4 == 0) * (size >= 16)
    return {
        f"{name}.bytewise": times - words,
        f"{name}.byte": (times - words) * size + words * (size % 4),
        f"{name}.words": words,
        f"{name}.words.by_16": words * (size // 16),
        f"{name}.words.by_4": words * (size % 16 // 4),
        f"{name}.words.by_4.enter": words * (size % 16 > 3),
        f"{name}.words.tail": words * (size % 4 > 0),
    }


def library_copy(name: str, times: int, size: int, source: int, start: int) -> Counts:
    """`times` calls of the C library's memcpy between two addresses: by 64, 16 and 4 bytes, and what is left.

    Under 8 bytes go byte by byte where an address is uneven, and more start with single ones where both are.
    """
    apart = times * (source % 4 + start % 4 > 0)
    short, middle = apart * (size < 4), apart * (size >= 4) * (size < 8)
    head = (size >= 8) * (source % 4 > 0) * (-start % 4)
    long, rest = times - short - middle, size - head
    counts = {
        f"{name}.short": short,
        f"{name}.middle": middle,
        f"{name}.long": long,
        f"{name}.long.apart": apart - short - middle,
        f"{name}.middle.byte": middle * size,
        f"{name}.by_64": long * (rest // 64),
        f"{name}.by_16": long * (rest % 64 // 16),
        f"{name}.by_4": long * (rest % 16 // 4),
    }
    for word, calls, left in (("short", short, size), ("head", long, head), ("long", long, rest)):
        counts |= {f"{name}.{word}.rest": calls * (left % 4 > 0), f"{name}.{word}.two": calls * (left % 4 // 2)}
    return counts


# Matrix products: how often the loops of the support functions run.
#
# Sources (7.0.0): NNSupportFunctions/arm_nn_mat_mult_nt_t_s8.c, arm_nn_vec_mat_mult_t_s8.c,
# ConvolutionFunctions/arm_nn_mat_mult_kernel_s8_s16.c and the left-over column of arm_convolve_s8.c.
# A loop counts its turns and, under `.enter`, how often it is entered at all: setting one up costs instructions too.


def nt_t_s8(isa: Isa, calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_t_s8: rows x depth by depth x channels."""
    if isa is Isa.MVE:
        return _nt_t_mve(calls, rows, depth, channels)
    pairs, odd = divmod(channels, 2)
    counts = {
        "nt_t.call": calls,
        "nt_t.pairs.enter": calls * (pairs > 0),
        "nt_t.pair": calls * pairs,
        "nt_t.pair.sum": calls * pairs * depth,
        "nt_t.rows.enter": calls * pairs * (rows > 1),
        "nt_t.odd": calls * odd,
        "nt_t.odd.row": calls * odd * rows,
        "nt_t.odd.depth": calls * odd * rows * depth,
    }
    for name, times in (("nt_t.2x2", calls * pairs * (rows // 2)), ("nt_t.1x2", calls * pairs * (rows % 2))):
        counts[name] = times
        counts |= _depth(isa, name, times, depth, 16)
    return counts


def _nt_t_mve(calls: int, rows: int, depth: int, channels: int) -> Counts:
    """Four rows at a time for each channel, then single rows that requantize four channels at a time."""
    fours, single = divmod(rows, 4)
    vectors, tail = up(depth, 16), channels % 4
    single *= calls
    return {
        "nt_t.call": calls,
        "nt_t.fours.enter": calls * (fours > 0),
        "nt_t.four": calls * fours,
        "nt_t.four.channel": calls * fours * channels,
        "nt_t.four.vector": calls * fours * channels * vectors,
        "nt_t.singles.enter": calls * (rows % 4 > 0),
        "nt_t.single": single,
        "nt_t.single.channel": single * channels,
        "nt_t.single.vector": single * channels * vectors,
        "nt_t.single.four_channels": single * (channels // 4),
        "nt_t.single.tail.enter": single * (tail > 0),
        "nt_t.single.tail": single * tail,
    }


def kernel_s8_s16(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_kernel_s8_s16: two columns by `channels` filters."""
    pairs, odd = calls * (channels // 2), calls * (channels % 2)
    return {
        "s8_s16.call": calls,
        "s8_s16.pairs.enter": calls * (channels > 1),
        "s8_s16.pair": pairs,
        "s8_s16.odd": odd,
        **_depth(isa, "s8_s16.pair", pairs, depth, 4),
        **_depth(isa, "s8_s16.odd", odd, depth, 4),
    }


def single_column(isa: Isa, columns: int, depth: int, channels: int) -> Counts:
    """The left-over column of arm_convolve_s8, one channel after the other."""
    times = columns * channels
    return {"column": columns, "column.channel": times, **_depth(isa, "column.channel", times, depth, 4)}


def _depth(isa: Isa, name: str, times: int, depth: int, widest: int) -> Counts:
    """The loop over the depth: one at a time on scalar, by `widest`, 4 and 1 on dsp."""
    if isa is Isa.SCALAR:
        return {f"{name}.depth": times * depth}
    return depth_on_dsp(name, times, depth, widest)


def depth_on_dsp(name: str, times: int, depth: int, widest: int) -> Counts:
    """The loop over the depth on dsp: by `widest`, then by 4, then one after the other."""
    counts = dict(by_rest(name, times, depth, 4, "tail")[1:])
    blocks = depth
    if widest > 4:
        counts[f"{name}.depth_{widest}"] = times * (depth // widest)
        counts[f"{name}.depth_{widest}.enter"] = times * (depth >= widest)
        blocks = depth % widest
    counts[f"{name}.depth_4"] = times * (blocks // 4)
    counts[f"{name}.depth_4.enter"] = times * (blocks >= 4)
    return counts


def core_4x_s8(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_4x_s8 (MVE, 4.0.0): four columns by `channels` filters."""
    times = calls * channels
    return {"core_4x": calls, "core_4x.channel": times, "core_4x.vector": times * up(depth, 16)}


def core_1x_s8(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_1x_s8 (MVE, up to 5.0.0): one column by four filters at a time."""
    four, single, vectors = calls * (channels // 4), calls * (channels % 4), up(depth, 16)
    return {
        "core_1x": calls,
        "core_1x.four": four,
        "core_1x.four.vector": four * vectors,
        "core_1x.tail": calls * (channels % 4 > 0),
        "core_1x.single": single,
        "core_1x.single.vector": single * vectors,
    }


def mat_mult_s8(calls: int, columns: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_s8 (MVE, 4.0.0): four columns together, fewer one at a time, depth by 8."""
    vectors = up(depth, 8)
    if columns == 4:
        times = calls * channels
        return {"mat_mult": calls, "mat_mult.four": times, "mat_mult.four.vector": times * vectors}
    times = calls * columns * channels
    return {
        "mat_mult": calls,
        "mat_mult.column": calls * columns,
        "mat_mult.single": times,
        "mat_mult.single.vector": times * vectors,
    }


# Matrix products with 4-bit weights, two in a byte: how often the loops of the support functions run.
#
# Sources (7.0.0): NNSupportFunctions/arm_nn_mat_mult_nt_t_s4.c, arm_nn_mat_mult_nt_interleaved_t_even_s4.c,
# arm_nn_mat_mul_core_1x_s4.c, arm_nn_vec_mat_mult_t_s4.c and ConvolutionFunctions/arm_nn_mat_mult_kernel_s4_s16.c.
# Where the depth is odd, a weight of every second channel lies in the byte of the channel before.


def nt_t_s4(isa: Isa, calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_t_s4: rows x depth by depth x channels."""
    if isa is Isa.MVE:
        return _rows_mve("nt_t_s4", (calls, rows), depth, channels, {4: 16, 3: 16, 2: 32, 1: 32})
    quads, rest = calls * (channels // 4), calls * (channels % 4)
    counts = {
        "nt_t_s4.call": calls,
        "nt_t_s4.quads.enter": calls * (channels >= 4),
        "nt_t_s4.quad": quads,
        "nt_t_s4.quad.pairs": quads * (rows > 1),
        "nt_t_s4.rest": rest,
        "nt_t_s4.rest.pairs": rest * (rows > 1),
        "nt_t_s4.rest.crossing": calls * (channels % 4 > 1) * (depth % 2),
    }
    for row, count in (("pair", calls * (rows // 2)), ("single", calls * (rows % 2))):
        counts |= _channels(isa, f"nt_t_s4.{row}", count, depth, channels)
    return counts


def even_s4(calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_interleaved_t_even_s4 on MVE: an even depth."""
    return _rows_mve("even_s4", (calls, rows), depth, channels, dict.fromkeys((4, 3, 2, 1), 32))


def _rows_mve(name: str, work: tuple[int, int], depth: int, channels: int, widths: dict[int, int]) -> Counts:
    """Calls on MVE: four rows together, then three, two or one, in blocks of a width."""
    calls, rows = work
    counts: Counts = {f"{name}.call": calls, f"{name}.fours.enter": calls * (rows >= 4)}
    for together, width in widths.items():
        groups = calls * (rows // 4 if together == 4 else rows % 4 == together)
        outputs = groups * channels
        crossing = groups * (channels // 2) * (depth % 2)
        word = f"{name}.rows_{together}"
        counts |= {
            word: groups,
            f"{word}.channel": outputs,
            f"{word}.crossing": crossing,
            f"{word}.block": outputs * (depth // width),
            f"{word}.block.enter": outputs * (depth >= width),
            f"{word}.half": outputs * (depth % 32 // 16) * (width == 32),
            f"{word}.rest": (outputs - crossing) * (depth % 16 > 0) + crossing * (depth % 16 > 1),
        }
        if together == 1:
            counts[f"{word}.four_channels"] = groups * (channels // 4)
            counts[f"{word}.tail"] = groups * (channels % 4)
            counts[f"{word}.tail.enter"] = groups * (channels % 4 > 0)
    return counts


def kernel_s4_s16(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_kernel_s4_s16: two columns by `channels` filters."""
    return {"s4_s16.call": calls, **_channels(isa, "s4_s16", calls, depth, channels)}


def single_column_s4(isa: Isa, columns: int, depth: int, channels: int) -> Counts:
    """The left-over column of arm_convolve_s4, one channel after the other."""
    times = columns * channels
    crossing = columns * (channels // 2) * (depth % 2)
    return {
        "column_s4": columns,
        **_parts(isa, "column_s4.channel", times - crossing, depth, 4),
        **_parts(isa, "column_s4.crossing", crossing, depth, 4),
    }


def core_1x_s4(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_1x_s4 on MVE: one column, four outputs written together."""
    return {
        "core_1x_s4": calls,
        "core_1x_s4.channel": calls * channels,
        "core_1x_s4.vector": calls * channels * up(depth, 16),
        "core_1x_s4.four_channels": calls * (channels // 4),
        "core_1x_s4.tail": calls * (channels % 4),
        "core_1x_s4.tail.enter": calls * (channels % 4 > 0),
    }


def vec_mat_t_s4(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_vec_mat_mult_t_s4: four outputs in two pairs, then single ones."""
    counts: Counts = {
        "vec_mat_s4": calls,
        "vec_mat_s4.quad.enter": calls * (channels >= 4),
        "vec_mat_s4.rest.enter": calls * (channels % 4 > 0),
    }
    if isa is not Isa.MVE:
        return counts | _channels(isa, "vec_mat_s4", calls, depth, channels)
    for name, times in _turns("vec_mat_s4", calls, depth, channels):
        counts |= {
            name: times,
            f"{name}.block": times * (depth // 32),
            f"{name}.block.enter": times * (depth >= 32),
            f"{name}.half": times * (depth % 32 // 16),
            f"{name}.tail": times * (depth % 16 > 0),
            f"{name}.two": times * (depth % 16 // 2),
            f"{name}.two.enter": times * (depth % 16 > 1),
        }
    return counts


def _turns(name: str, times: int, depth: int, channels: int) -> tuple[tuple[str, int], ...]:
    """Turns over four channels and over single ones; even depths, and each nibble of odd ones, have their loops."""
    quads, rest, odd = times * (channels // 4), channels % 4, depth % 2
    second = times * (rest > 1)
    return (
        (f"{name}.quad.even", quads * (1 - odd)),
        (f"{name}.quad.odd", quads * odd),
        (f"{name}.rest.even", times * rest * (1 - odd)),
        (f"{name}.rest.odd", (times * rest - second) * odd),
        (f"{name}.rest.crossing", second * odd),
    )


def _channels(isa: Isa, name: str, times: int, depth: int, channels: int) -> Counts:
    """The loops over the depth for each of the turns over channels."""
    counts: Counts = {}
    widest = 16 if name.startswith("nt_t_s4") else 4
    for word, turns in _turns(name, times, depth, channels):
        counts |= _parts(isa, word, turns, depth, widest)
    return counts


def _parts(isa: Isa, name: str, times: int, depth: int, widest: int) -> Counts:
    """One loop over the depth: by two on scalar, by `widest`, 4 and less on dsp."""
    counts: Counts = {name: times}
    if isa is Isa.SCALAR:
        return counts | {f"{name}.two": times * (depth // 2), f"{name}.two.enter": times * (depth > 1)}
    return counts | depth_on_dsp(name, times, depth, widest)


# What a layer without a bias saves, from 7.0.0 on: no load for each output channel, and gcc's code for that branch.
#
# A bias is read once for each output channel of a group of columns: two on scalar and dsp, four on MVE. The fits to
# layers with a bias do not tell what its loads cost, so that the pieces here may cost less than nothing.


WORD = ".no_bias"
"""In the name of each piece."""
KERNELS = frozenset(
    {
        *("arm_convolve_s8", "arm_convolve_1x1_s8_fast", "arm_convolve_1_x_n_s8", "arm_convolve_s16"),
        *("arm_convolve_1x1_s4_fast", "arm_convolve_even_s4", "arm_depthwise_conv_s4_opt", "arm_depthwise_conv_s16"),
        *("arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt", "depthwise_conv_s8_generic"),
        *("depthwise_conv_s8_mult_4", "arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"),
        *("arm_fully_connected_s16", "arm_fully_connected_s4"),
    }
)
"""Kernels whose layers without a bias are predicted to 2 % in 95 of 100; others get the number of one with a bias."""
NOT_ALIGNED = ("arm_depthwise_conv_s16",)
"""Those of them that are no better predicted so on a CPU that loads aligned words alone: to 2 % with a bias."""
TOGETHER = {Isa.SCALAR: 2, Isa.DSP: 2, Isa.MVE: 4}
"""Output columns that a product takes together."""


def without_bias(kernel: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Runs of the pieces that a layer without a bias has instead; none for a kernel that is not in KERNELS."""
    if kernel not in KERNELS or (sizes.aligned and kernel in NOT_ALIGNED):
        return {}
    name, images, columns, channels = f"{kernel}{WORD}", sizes.n, sizes.pixels, sizes.out_c
    groups, rest = divmod(columns, TOGETHER[isa])
    return {
        name: 1,
        f"{name}.column": images * columns,
        f"{name}.group": images * groups * channels,
        f"{name}.group.two": images * groups * (channels // 2),
        f"{name}.group.four": images * groups * (channels // 4),
        f"{name}.rest": images * rest * channels,
        f"{name}.rest.two": images * rest * (channels // 2),
        f"{name}.rest.four": images * rest * (channels // 4),
    }
