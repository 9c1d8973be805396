"""How often the loops of functions for f32 and f16 run.

Pieces bear the type at the end of their first word: `nt_t_f32.k`. A piece runs on one instruction set, or on all;
Cortex-M4, M7 and M33 run the same C code. Channel counts may be arrays, of many calls that take the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from operator import mul

from onnxlint_cmsis.cmsis_nn.cost_records import FloatBuild
from onnxlint_cmsis.cmsis_nn.float.both_types import FLOAT_TYPES, FloatType
from onnxlint_cmsis.cmsis_nn.loops.memory import library_block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, sizes_of
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.ground.types import AS_ASKED, Dims, FloatCall, Function, Isa, KernelCall

WIDEST = 65535
"""Largest distance of the lanes of a gather for f16 (arm_nn_math_types.h:104-108)."""


class FloatLoops:
    """The counts of one call, added up piece by piece."""

    def __init__(self, call: KernelCall, sizes: LoopSizes, build: FloatBuild, taken: Route, data: str) -> None:
        self.kind: FloatType = next(kind for kind in FLOAT_TYPES if kind.name == call.types)
        self.call, self.floating, self.sizes = call, call.floating or FloatCall(), sizes
        self.taken, self.data = taken, data
        self.mve, self.software, self.aligned = build.isa is Isa.MVE, build.isa is Isa.SCALAR, build.aligned
        self.buffer, self.seen_c = taken.seen.get("ctx.size") or 0, taken.seen.get("input_dims.c") or 0
        self.counts: Counts = {}

    def add(self, piece: str, times: int, **inner: int) -> None:
        """A piece by its name without the type, and pieces inside it: `add("nt_t", 2, k=8)`."""
        name = f"{piece}_{self.kind.name}"
        for part, number in ((name, times), *((f"{name}.{word}", count) for word, count in inner.items())):
            self.counts[part] = self.counts.get(part, 0) + number

    def ran(self, name: str) -> bool:
        """Tell whether the route names a function, by its name without `arm_` and the type."""
        return self.kind.kernel(name) in self.taken.chain

    @property
    def lanes(self) -> int:
        """Numbers in an MVE register; 1 for C code."""
        return self.kind.block if self.mve else 1

    def vectors(self, numbers: int) -> int:
        """Turns of a loop over numbers, one or a register full at a time."""
        return up(numbers, self.lanes)

    def loop(self, piece: str, times: int, turns: int) -> None:
        """A loop: how often it is reached, how often it is entered, and its turns."""
        self.add(piece, times, enter=times * (turns > 0), turn=times * turns)

    def moved(self, piece: str, times: int, numbers: int, even: int | None = None) -> None:
        """CMSIS-NN's memcpy or memset of so many numbers; `even` as for `blocks`."""
        if self.mve:
            self.elements(piece, times, numbers)
            self.add(piece, 0, whole=times * (numbers >= self.lanes))
        else:
            self.blocks(piece, times, numbers, even)

    def blocks(self, piece: str, times: int, numbers: int, even: int | None = None) -> None:
        """Memcpy or memset of the C library, of so many numbers.

        `even`: how many of the times both tensors have an even count of numbers in front of the block; None if unknown.
        """
        size = numbers * self.kind.bytes
        if self.aligned and even is not None:
            words = (times if self.kind.bytes == 4 else even) * (size >= 16)
            singles = words * (size % 4) + (times - words) * size
            self.add(piece, times, words=words, by_16=words * (size // 16), by_4=words * (size % 16 // 4), by_1=singles)
            self.add(piece, 0, from_4=words * (size % 16 >= 4), from_1=words * (size % 4 > 0) + times - words)
            return
        for name, count in library_block(f"{piece}_{self.kind.name}", times, size).items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.add(piece, 0, by_64=times * (size // 64))

    def elements(self, piece: str, times: int, numbers: int) -> None:
        """A loop over numbers, one or a register full at a time."""
        self.loop(piece, times, self.vectors(numbers))
        if self.mve:
            self.add(piece, 0, part=times * (numbers % self.lanes > 0), several=times * (numbers > self.lanes))

    def started(self, piece: str, times: int) -> None:
        """Sums that start from the bias, or from 0 without one."""
        self.add(f"{piece}.{'biased' if self.call.bias else 'unbiased'}", times)

    def begun(self, piece: str, times: int, numbers: int) -> None:
        """Numbers that start as the bias, or as 0 without one."""
        self.assigned(f"{piece}.{'biased' if self.call.bias else 'unbiased'}", times, numbers)

    def assigned(self, name: str, times: int, numbers: int, least: int = 0) -> None:
        """A loop that assigns; gcc makes calls of memcpy and memset of some, and with MVE vectors with a rest.

        `least`: numbers from which gcc takes vectors, 0 for as many as fill one.
        """
        self.elements(name, times, numbers)
        self.blocks(f"{name}.block", times, numbers)
        if self.mve:
            many = 1 * (numbers >= (least or self.lanes))
            self.add(name, 0, single=times * (1 - many) * numbers, rest=times * many * (numbers % self.lanes))

    def product(self, calls: int, rows: int, columns: int, depth: int) -> None:
        """Calls of one of the two functions that multiply matrices."""
        if self.ran("nn_mat_mult_nt_n_packed"):
            self.packed_product(calls, rows, columns, depth)
        else:
            self.plain_product("nt_t", calls, rows, columns, depth)

    def plain_product(self, name: str, calls: int, rows: int, columns: int, depth: int) -> None:
        """arm_nn_mat_mult_nt_t_*, and the copy of it that arm_convolve_1_x_n_* has for rows that overlap."""
        every = calls * rows
        self.add(name, calls, row=every)
        if not self.mve:
            self.add(name, 0, k=every * columns * depth)
            self.started(name, every * columns)
            return
        half = self.kind.bytes == 2
        left = columns
        widths = ((16, WIDEST // 15), (8, WIDEST // 7), (4, WIDEST // 7)) if half else ((8, depth), (4, depth))
        for width, deepest in widths:
            blocks = left // width * (depth <= deepest)
            left = left - blocks * width
            self.loop(f"{name}.by_{width}", every, blocks)
            self.started(f"{name}.by_{width}", every * blocks)
            self.add(f"{name}.by_{width}", 0, k=every * blocks * depth)
        whole, tail = divmod(depth, self.lanes)
        columns = every * left
        self.loop(f"{name}.by_1", every, left)
        self.started(f"{name}.by_1", columns)
        self.loop(f"{name}.by_1.vector", columns, whole)
        self.loop(f"{name}.by_1.tail", columns, tail)

    def packed_product(self, calls: int, rows: int, columns: int, depth: int) -> None:
        """arm_nn_mat_mult_nt_n_packed_*."""
        whole, some = columns // self.kind.block, columns % self.kind.block > 0
        self.add("packed", calls)
        if not self.mve:
            every = calls * rows
            self.add("packed", 0, row=every, block=every * (whole + some), k=every * columns * depth)
            self.started("packed", every * columns)
            return
        for word, times in (("four", rows // 4), ("one", rows % 4)):
            self.loop(f"packed.{word}", calls, times)
            for part, blocks in (("whole", whole), ("part", some)):
                every = calls * times * blocks
                self.started(f"packed.{word}.{part}", every)
                self.add(f"packed.{word}.{part}", 0, k=every * depth)

    def gathered(self, images: int) -> None:
        """Windows that arm_nn_pack_conv_patch_* gathers, tap by tap."""
        size, plane = self.sizes, self.sizes.plane
        taps = size.pixels * size.taps
        rows = plane.h.inside * size.out_w
        self.add("patch", images * size.pixels, row=images * size.pixels * size.filter_h, inside=images * rows)
        self.moved("patch.copy", images * plane.inside, size.in_c)
        self.moved("patch.fill", images * (taps - plane.inside), size.in_c)
        self.elements("patch.zero", images * (taps - plane.inside), size.in_c)

    def missed(self, piece: str, numbers: int) -> None:
        """Windows without a row on the input, and rows of windows on it without a tap on it, `numbers` for each."""
        size = self.sizes
        rows = sum(_beside(size.in_h, size.out_h, (size.filter_h, size.stride_h, size.pad_h, size.dilation_h)))
        columns = sum(_beside(size.in_w, size.out_w, (size.filter_w, size.stride_w, size.pad_w, size.dilation_w)))
        numbers = size.n * numbers
        self.add(piece, 0, no_row=rows * size.out_w * numbers, no_tap=size.plane.h.inside * columns * numbers)
        self.add(piece, 0, no_column=(size.out_h - rows) * columns * numbers)

    def windows(self, taps: int) -> int:
        """Windows of so many taps that the buffer holds: as many for all calls, as it is asked for by the window."""
        return self.buffer // (taps * self.seen_c * self.kind.bytes)

    def tiles(self, taps: int) -> tuple[tuple[int, int], ...]:
        """Tiles of up to 8 windows of one image: how many, and the rows of each."""
        rows = min(8, self.windows(taps))
        whole, rest = divmod(self.sizes.pixels, rows)
        return tuple((times, size) for times, size in ((whole, rows), (1, rest)) if times and size)


def _beside(size: int, windows: int, window: tuple[int, int, int, int]) -> tuple[int, int]:
    """Windows along an axis that begin in front of the input, or behind it, and have no tap on it.

    Dilated ones can step over all of it. `window` has the taps, the stride, the padding in front and the dilation.
    """
    taps, stride, pad, dilation = window
    starts = range(-pad, min(0, windows * stride - pad), stride)
    skipped = [-(start // dilation) for start in starts]
    before = sum(
        first >= taps or start + first * dilation >= size for start, first in zip(starts, skipped, strict=True)
    )
    return before, max(0, windows - up(size + pad, stride))


Counter = Callable[[FloatLoops], None]
"""Adds the loops of a function."""


def _pointwise(loops: FloatLoops) -> None:
    size = loops.sizes
    if loops.ran("convolve_1x1_nhwc_patch_gemm"):
        loops.add("pointwise.tiles", 1, image=size.n)
        for times, rows in loops.tiles(1):
            loops.add("pointwise.tile", size.n * times, row=size.n * times * rows)
            loops.moved("pointwise.copy", size.n * times * rows, size.in_c)
            loops.product(size.n * times, rows, size.out_c, size.in_c)
    elif size.stride_h == size.stride_w == 1 and (size.in_h, size.in_w) == (size.out_h, size.out_w):
        loops.add("pointwise.plane", 1, image=size.n)
        loops.product(size.n, size.in_h * size.in_w, size.out_c, size.in_c)
    else:
        loops.add("pointwise.each", 1, image=size.n, row=size.n * size.out_h, pixel=size.n * size.pixels)
        loops.product(size.n * size.pixels, 1, size.out_c, size.in_c)


def _conv1d(loops: FloatLoops) -> None:
    size, taps = loops.sizes, loops.sizes.filter_w
    packed = loops.taken.kernel.rpartition("_")[0].endswith("packed")
    name = f"conv1d_k{taps}{'_packed' if packed else ''}"
    columns, outputs, depth = size.out_w, size.out_c, size.in_c
    loops.add(name, 1, no_buffer=1 * (loops.buffer == 0))
    if not loops.mve:
        every = columns * outputs
        loops.add(name, 0, column=columns, k=every * depth)
        loops.started(name, every)
    elif packed:
        pairs, odd = divmod(columns, 2)
        whole, some = divmod(outputs, loops.kind.block)
        tail = 1 * (some > 0)
        loops.loop(f"{name}.pairs", 1, pairs)
        loops.add(f"{name}.pairs", 0, none=pairs * (whole == 0), k=pairs * whole * depth)
        loops.add(f"{name}.pairs", 0, whole=1 * (pairs > 0) * (whole > 0))
        loops.started(f"{name}.pairs", pairs * whole)
        if loops.kind.bytes == 2:
            loops.add(f"{name}.part", 0, k=pairs * tail * depth)
            loops.started(f"{name}.part", pairs * tail)
        for word, blocks in (("whole", whole), ("part", tail)):
            loops.add(f"{name}.odd.{word}", odd, k=odd * blocks * depth)
            loops.started(f"{name}.odd.{word}", odd * blocks)
    else:
        step = 2 if loops.kind.bytes == 4 else 4
        loops.add(name, 0, column=columns)
        if taps == 5 and loops.kind.bytes == 4:
            fours = outputs // 4 * (depth == 4)
            loops.loop(f"{name}.four_inputs", columns * (depth == 4), fours)
            loops.started(f"{name}.four_inputs", columns * fours)
            outputs = outputs - 4 * fours
        elif taps == 5 and loops.call.bias:
            sixteens = outputs // 16 * (depth == 16)
            loops.loop(f"{name}.sixteen_inputs", columns * (depth == 16), sixteens)
            outputs = outputs - 16 * sixteens
        groups, single = divmod(outputs, step)
        turns = loops.vectors(depth)
        for word, number in (("group", groups), ("single", single)):
            loops.loop(f"{name}.{word}", columns, number)
            loops.started(f"{name}.{word}", columns * number)
            loops.add(f"{name}.{word}", 0, k=columns * number * turns)
    loops.elements("clamp", 1, columns * size.out_c)


def _row_kernel(loops: FloatLoops) -> None:
    size, depth = loops.sizes, loops.sizes.filter_w * loops.sizes.in_c
    starts = [position * size.stride_w - size.pad_w for position in range(size.out_w)]
    inside = [position for position, start in enumerate(starts) if start >= 0 and start + size.filter_w <= size.in_w]
    first = inside[0] if inside else size.out_w
    last = inside[-1] if inside else first - 1
    rows = loops.windows(size.filter_w)
    negative = sum(start < 0 for start in starts[:first])
    loops.add("row", 1, image=size.n, before=negative, between=first - negative, behind=size.out_w - 1 - last)
    for word, side in (("left", range(first)), ("right", range(last + 1, size.out_w))):
        loops.add(f"row.{word}", size.n * (len(side) > 0))
        for at in range(0, len(side), rows):
            part = side[at : at + rows]
            loops.add(f"row.{word}.tile", size.n)
            for position in part:
                start = starts[position]
                before = max(0, -start)
                valid = max(min(start + size.filter_w, size.in_w) - max(start, 0), 0)
                after = size.filter_w - before - valid
                loops.add(
                    "row.window", size.n, cut=size.n * (start + size.filter_w > size.in_w), low=size.n * (start < 0)
                )
                for what, number in (("before", before), ("copy", valid), ("after", after)):
                    if number > 0:
                        loops.moved(f"row.{what}", size.n, number * size.in_c)
            loops.plain_product("nt_t", size.n, len(part), size.out_c, depth)
    if inside:
        loops.plain_product("row.strided", size.n, last + 1 - first, size.out_c, depth)


def _gathered_convolution(loops: FloatLoops) -> None:
    size = loops.sizes
    loops.add("gathered", 1, image=size.n)
    loops.gathered(size.n)
    for times, rows in loops.tiles(size.taps):
        loops.add("gathered.tile", size.n * times)
        loops.product(size.n * times, rows, size.out_c, size.depth)


def _direct(loops: FloatLoops) -> None:
    """One output after the other; the dot product of a tap over the input channels."""
    size, plane = loops.sizes, loops.sizes.plane
    outputs = size.n * size.pixels * size.out_c
    rows = size.n * size.out_c * plane.h.inside * size.out_w
    taps = size.n * size.out_c * plane.inside
    loops.add("direct", 1, image=size.n, row=size.n * size.out_h, pixel=size.n * size.pixels)
    loops.add("direct", 0, output=outputs, filter_row=outputs * size.filter_h)
    loops.add("direct", 0, first=outputs * (loops.software and not loops.call.bias))
    loops.add("direct", 0, row_inside=rows, tap=rows * size.filter_w, inside=taps)
    loops.add("direct", 0, row_before=size.n * size.out_c * plane.h.before * size.out_w)
    loops.add("direct", 0, tap_before=size.n * size.out_c * plane.h.inside * plane.w.before)
    loops.add("direct", 0, k=taps * loops.vectors(size.in_c))


def _channels_3x3(loops: FloatLoops) -> None:
    size, plane = loops.sizes, loops.sizes.plane
    pixels = size.n * size.pixels
    name = "dw_3x3_valid" if f"depthwise_conv3x3_nhwc_valid_{loops.kind.name}" in loops.taken.chain else "dw_3x3"
    loops.add(name, 1, image=size.n, row=size.n * size.out_h, pixel=pixels)
    loops.begun(name, pixels, size.in_c)
    loops.add(name, 0, filter_row=size.n * plane.h.inside * size.out_w)
    loops.elements(f"{name}.tap", size.n * plane.inside, size.in_c)
    loops.elements(f"{name}.clamp", pixels, size.in_c)


def _channels_k3(loops: FloatLoops) -> None:
    size = loops.sizes
    loops.add("dw_k3", 1, column=size.out_w)
    loops.elements(f"dw_k3.{'biased' if loops.call.bias else 'unbiased'}", size.out_w, size.in_c)
    loops.elements("clamp", 1, size.out_w * size.in_c)


def _channels_2x5(loops: FloatLoops) -> None:
    size = loops.sizes
    channels = size.n * size.out_w * size.in_c
    loops.add("dw_2x5", 1, column=size.n * size.out_w, channel=channels, k=channels * loops.vectors(size.ch_mult))


def _channels_tiled(loops: FloatLoops) -> None:
    """Windows of up to four columns of a row are gathered, then multiplied channel by channel."""
    size, plane = loops.sizes, loops.sizes.plane
    most = min(4, loops.windows(size.taps))
    pixels, rows = size.n * size.pixels, size.n * size.out_h
    loops.add("dw_tiles", 1, image=size.n, row=rows, pixel=pixels, filter_row=pixels * size.filter_h)
    high = size.n * plane.h.inside * size.out_w
    loops.add("dw_tiles", 0, row_inside=high, tap_inside=high * size.filter_w, single=pixels * (size.filter_w == 1))
    loops.moved("dw_tiles.copy", size.n * plane.inside, size.in_c)
    loops.moved("dw_tiles.fill", pixels * size.taps - size.n * plane.inside, size.in_c)
    whole, rest = divmod(size.out_w, most)
    for columns, times in ((most, rows * whole), (rest, rows)):
        if not columns:
            continue
        loops.add("dw_nt_t", times)
        if not loops.mve:
            outputs = times * columns * size.in_c
            loops.add("dw_nt_t", 0, row=times * columns, k=outputs * size.taps)
            loops.started("dw_nt_t", outputs)
            continue
        name = f"dw_nt_t.of_{columns}"
        whole_blocks, part = size.in_c // loops.lanes, 1 * (size.in_c % loops.lanes > 0)
        loops.add(name, times)
        for word, blocks in (("whole", whole_blocks), ("part", part)):
            loops.started(f"{name}.{word}", times * blocks)
            loops.add(f"{name}.{word}", 0, k=times * blocks * size.taps, single=times * blocks * (size.taps == 1))
            loops.add(f"{name}.{word}", 0, enter=times * (blocks > 0))


def _channels_fast(loops: FloatLoops) -> None:
    """Code for f32 has a loop for windows that lie wholly on the input, and copies for those around them."""
    size, plane = loops.sizes, loops.sizes.plane
    height = size.in_h, size.out_h, size.filter_h, size.stride_h, size.pad_h
    width = size.in_w, size.out_w, size.filter_w, size.stride_w, size.pad_w
    split = 1 * (loops.kind.bytes == 4)
    (above, taps_above), (left, taps_left) = _early(*height), _early(*width)
    before, behind = _beside(size.in_w, size.out_w, (size.filter_w, size.stride_w, size.pad_w, 1))
    before_h, behind_h = _beside(size.in_h, size.out_h, (size.filter_h, size.stride_h, size.pad_h, 1))
    above, taps_above, columns = split * above, split * taps_above, split * plane.w.whole
    rows = plane.h.whole * (columns > 0)
    loops.add("dw_fast", 1, image=size.n, row=size.n * size.out_h, split=size.n * rows)
    for axis, (outputs, first, whole) in {
        "h": (size.out_h, above, plane.h.whole),
        "w": (size.out_w, left, plane.w.whole),
    }.items():
        last = outputs - first - whole
        loops.add(f"dw_fast.{axis}", 0, first=split * first, last=split * last, rest=split * (last > 0))
    loops.add("dw_fast", 0, above_first=size.n * (above > 0), from_first=size.n * split * (size.out_h > above))
    inside, below = rows * size.filter_h, plane.h.inside - taps_above - rows * size.filter_h
    right, taps_right = size.out_w - left - columns, plane.w.inside - taps_left - columns * size.filter_w
    inner = columns * size.filter_w
    parts = {
        "above": (above, size.out_w, taps_above, plane.w.inside, before + behind),
        "left": (rows, left, inside, taps_left, before),
        "inner": (rows, columns, inside, inner, 0),
        "right": (rows, right, inside, taps_right, behind),
        "below": (size.out_h - above - rows, size.out_w, below, plane.w.inside, before + behind),
    }
    for word, (lines, pixels, filter_rows, taps, missed) in parts.items():
        name, every = f"dw_fast.{word}", size.n * lines * pixels
        loops.add(name, every, row=size.n * lines * (pixels > 0), filter_row=size.n * filter_rows * pixels)
        loops.add(name, 0, no_tap=size.n * filter_rows * missed)
        loops.begun(name, every, size.in_c)
        loops.elements(f"{name}.tap", size.n * filter_rows * taps, size.in_c)
        loops.elements(f"{name}.clamp", every, size.in_c)
    for word, outside in (("above", split * before_h), ("below", (1 - split) * before_h + behind_h)):
        loops.add(f"dw_fast.{word}", 0, no_row=size.n * outside * size.out_w)


def _early(inputs: int, outputs: int, taps: int, stride: int, pad: int) -> tuple[int, int]:
    """Windows along an axis that begin in the padding, and how many of their taps lie on the input."""
    windows = min(outputs, up(pad, stride))
    starts = (index * stride - pad for index in range(windows))
    return windows, sum(max(0, min(taps, inputs - start) + start) for start in starts)


def _channels_generic(loops: FloatLoops) -> None:
    size, plane = loops.sizes, loops.sizes.plane
    outputs = size.n * size.pixels * size.out_c
    loops.add("dw_generic", 1, row=size.n * size.out_h, pixel=size.n * size.pixels)
    loops.add("dw_generic", 0, first=outputs * (loops.software and not loops.call.bias))
    loops.add("dw_generic", 0, channel=size.n * size.pixels * size.in_c, output=outputs)
    loops.add("dw_generic", 0, dilated_h=outputs * (size.dilation_h > 1), dilated_w=outputs * (size.dilation_w > 1))
    loops.add("dw_generic", 0, filter_row=size.n * plane.h.inside * size.out_w * size.out_c)
    loops.add("dw_generic", 0, tap=size.n * plane.inside * size.out_c)
    loops.missed("dw_generic", size.out_c)


def _channels_as_convolution(loops: FloatLoops) -> None:
    size, block = loops.sizes, loops.kind.block
    whole, rest = divmod(size.out_c, block)
    filter_bytes = up(loops.taken.seen.get("output_dims.c") or 0, block) * block * size.taps * loops.kind.bytes
    rows = (loops.buffer - filter_bytes) // (size.taps * loops.kind.bytes)
    pixels = size.n * size.pixels
    loops.add("to_conv", 1, image=size.n, block=whole, block_tap=whole * size.taps)
    for some in range(1, block):
        loops.add(f"to_conv.rest_{some}", 1 * (rest == some), tap=(rest == some) * size.taps)
    name = "to_conv.dilated" if size.dilation_w > 1 else "to_conv.window"
    inside_rows = size.n * size.plane.h.inside * size.out_w
    loops.add(name, pixels, row_inside=inside_rows, tap=inside_rows * size.filter_w, inside=size.n * size.plane.inside)
    loops.blocks(f"{name}.fill", pixels * size.filter_h - inside_rows, size.filter_w)
    for times, tile in ((size.pixels // rows, rows), (1, size.pixels % rows)):
        if times and tile:
            loops.add("to_conv.tile", size.n * times)
            loops.packed_product(size.n * times, tile, size.out_c, size.taps)


def _transposed(loops: FloatLoops) -> None:
    """Inputs other than zero are spread over the output tap by tap."""
    size = loops.sizes
    pixels, inputs = size.n * size.pixels, size.n * size.in_h * size.in_w * size.in_c

    def hits(outputs: int, axis: tuple[tuple[int, int, int, int], int]) -> tuple[int, int]:
        """Taps on the output, and taps before it."""
        (stride, pad, taps, dilation), inputs = axis
        places = [at * stride - pad + tap * dilation for at in range(inputs) for tap in range(taps)]
        return sum(0 <= position < outputs for position in places), sum(position < 0 for position in places)

    high, above = hits(size.out_h, ((size.stride_h, size.pad_h, size.filter_h, size.dilation_h), size.in_h))
    wide, left = hits(size.out_w, ((size.stride_w, size.pad_w, size.filter_w, size.dilation_w), size.in_w))
    images = size.n * size.in_c
    loops.add("tconv", 1, image=size.n, row=size.n * size.out_h, pixel=pixels, input=inputs)
    loops.add("tconv", 0, input_row=size.n * size.in_h, input_pixel=size.n * size.in_h * size.in_w)
    loops.add("tconv", 0, filter_row=inputs * size.filter_h, row_inside=images * high * size.in_w)
    loops.add("tconv", 0, tap=images * high * size.in_w * size.filter_w)
    loops.add("tconv", 0, row_above=images * above * size.in_w, tap_left=images * high * left)
    loops.elements("tconv.inside", images * high * wide, size.out_c)
    loops.begun("tconv", pixels, size.out_c)
    loops.elements("tconv.clamp", pixels, size.out_c)


def _dense(loops: FloatLoops) -> None:
    loops.add("dense", 1)
    depth = loops.call.filter_dims.n
    loops.product(1, loops.sizes.n, loops.sizes.out_c, 0 if depth is None else depth)


def _batch_product(loops: FloatLoops) -> None:
    left, right, result = loops.call.input_dims, loops.call.filter_dims, loops.call.output_dims
    rows, columns, depth = left.c or 0, right.c or 0, right.w or 0
    calls = (result.n or 0) * (result.h or 0)
    loops.add("bmm", 1, image=result.n or 0, matrix=calls)
    if not loops.floating.adj_x and not loops.floating.adj_y:
        loops.product(calls, rows, columns, depth)
        return
    both = loops.floating.adj_x and loops.floating.adj_y
    name = f"bmm.{'both' if both else 'left' if loops.floating.adj_x else 'right'}"
    every = calls * rows
    loops.add(name, calls, row=every, output=every * columns, k=every * columns * loops.vectors(depth))


def _pool(loops: FloatLoops) -> None:
    size, plane = loops.sizes, loops.sizes.plane
    name = "avg" if loops.call.function is Function.AVERAGE_POOL else "max"
    kernel = loops.taken.kernel.removeprefix("arm_nn_").rpartition("_")[0]
    if kernel.startswith("maxpool1d"):
        loops.add(kernel, 1, image=size.n)
        loops.elements(f"{kernel}.column", size.n * size.out_w, size.in_c)
        if kernel == "maxpool1d_k2s2_nhwc":
            loops.elements(f"{kernel}.clamp", size.n, size.out_w * size.in_c)
        return
    turns = loops.vectors(size.in_c)
    every = size.n * size.pixels
    row = 1 * (size.in_h == size.filter_h == 1)
    follow = row * (size.stride_w == size.filter_w)
    loops.add(name, 0, row=row, follow_2=follow * (size.filter_w == 2), follow_3=follow * (size.filter_w == 3))
    loops.add(name, 1, image=size.n, out_row=size.n * size.out_h, pixel=every, channel=every * turns)
    loops.missed(name, turns)
    whole = plane.inside == size.pixels * size.taps
    loops.add(name, 0, power_of_2=every * turns * (whole and size.taps.bit_count() == 1) * loops.software)
    loops.add(name, 0, filter_row=size.n * plane.h.inside * size.out_w * turns, tap=size.n * plane.inside * turns)


def _flat(name: str) -> Counter:
    def count(loops: FloatLoops) -> None:
        numbers = prod(loops.sizes.image)
        loops.elements(name, 1, numbers)
        loops.add(name, 0, clamped=numbers * loops.floating.clamped * (not loops.mve))

    return count


def _batch_norm(loops: FloatLoops) -> None:
    size = loops.sizes
    loops.add("batch_norm", 1, image=size.n, row=size.n * size.in_h)
    loops.elements("batch_norm.pixel", size.n * size.in_h * size.in_w, size.in_c)


def _softmax(loops: FloatLoops) -> None:
    size = loops.sizes
    rows = size.n * size.in_h * size.in_w
    if "1x2" in loops.taken.kernel:
        loops.add(f"softmax_1x2{loops.data}", 1)
        return
    loops.add("softmax", 1)
    loops.elements(f"softmax{loops.data}.row", rows, size.in_c)


def _recurrent(loops: FloatLoops) -> None:
    """An LSTM unit by unit; the first step has no hidden state. MVE code takes a register full of units at a time."""
    size = loops.sizes
    steps, units = size.n * size.in_w, size.out_c
    behind = size.n * (size.in_w - 1)
    loops.add("lstm", 1, step=size.in_w, sequence=steps, time_major=1 * size.time_major)
    loops.add("lstm.clear", size.n * units)
    blocks = units // loops.lanes * loops.mve
    for word, count in (("many", blocks * loops.lanes), ("single", units - blocks * loops.lanes)):
        loops.add(f"lstm.{word}", steps * (count > 0), k=GATES * steps * count * loops.vectors(size.in_c))
        gates = GATES * behind * count
        loops.add(f"lstm.{word}.hidden", gates, k=gates * loops.vectors(units))
        loops.started(f"lstm.{word}", GATES * steps * count)
        loops.add(f"lstm{loops.data}.{word}", steps * count)


GATES = 4
"""Input, forget, cell and output."""


def _activation(loops: FloatLoops) -> None:
    """MVE code has four curves; sigmoid and leaky ReLU are computed one by one."""
    curve, numbers = loops.floating.activation, prod(loops.sizes.image)
    turns = numbers if curve in (32, SIGMOID, LEAKY_RELU) else loops.vectors(numbers)
    loops.add(f"activation.{curve}{loops.data}", 1, turn=turns)


def _pad(loops: FloatLoops) -> None:
    """Fills and copies in the order of memory; a pad of channels copies pixel by pixel, any other row by row."""
    image, front, result = loops.call.input_dims, loops.sizes.pad_front, loops.call.output_dims
    n, h, w, c = (size or 0 for size in image)
    out_n, out_h, out_w, out_c = (size or 0 for size in result)
    loops.add("pad", 1, image=n, row=n * h)
    fills = [(1, out_h * out_w * out_c, front.n, out_n - n), (n, out_w * out_c, front.h, out_h - h)]
    fills.append((n * h, out_c, front.w, out_w - w))
    steps = out_h * out_w * out_c, out_w * out_c, out_c
    start = front.n * steps[0] + front.h * steps[1] + front.w * steps[2] + front.c
    if c == out_c:
        loops.moved("pad.row_copy", n * h, w * c, _even((n, h), (0, h * w * c, w * c), (start, *steps[:2])))
    else:
        loops.add("pad.pixel", n * h * w)
        loops.moved("pad.copy", n * h * w, c, _even((n, h, w), (0, h * w * c, w * c, c), (start, *steps)))
        fills.append((n * h * w, 1, front.c, out_c - c))
    for times, numbers, before, both in fills:
        for amount in (before, both - before):
            loops.elements("pad.fill", times, numbers * amount)
            loops.add("pad.fill", 0, whole=times * (numbers * amount >= loops.lanes))


MANY_TURNED = 128
"""Numbers from which MVE code of two axes takes a register full (arm_transpose_f32.c:46, arm_transpose_f16.c:47)."""
LEAST_TURNED = 7
"""Numbers that stay next to each other, from which gcc 12.2 takes vectors."""


def _turned(loops: FloatLoops) -> None:
    """The last two axes have a function; others move number by number, and an order that keeps all copies."""
    order, sizes = loops.call.permutation, loops.sizes.image[: len(loops.call.permutation)]
    rank, numbers = len(order), prod(sizes)
    loops.add("turn", 1)
    loops.add(f"turn.of_{rank}", 1)
    if order == tuple(range(rank)):
        loops.assigned("turn.kept", 1, numbers)
    elif rank > 1 and order == (*range(rank - 2), rank - 1, rank - 2):
        times, (rows, columns) = prod(sizes[:-2]), sizes[-2:]
        name = f"turn.last_of_{rank}"
        loops.add(name, times, outer=sizes[0])
        if loops.mve and rows * columns >= MANY_TURNED and (loops.kind.bytes == 4 or columns <= WIDEST // 7):
            loops.loop(f"{name}.many", times, columns)
            loops.loop(f"{name}.many.vector", times * columns, up(rows, loops.lanes))
        else:
            loops.loop(f"{name}.row", times, rows)
            loops.loop(f"{name}.number", times * rows, columns)
    else:
        adjacent = prod(sizes[axis] for axis in order[order.index(rank - 1) + 1 :]) == 1
        name = f"turn.of_{rank}.{'adjacent' if adjacent else 'apart'}"
        for axis in range(rank - 1):
            loops.loop(f"{name}.axis_{axis}", prod(sizes[:axis]), sizes[axis])
        if adjacent:
            loops.assigned(f"{name}.number", prod(sizes[:-1]), sizes[-1], LEAST_TURNED)
        else:
            loops.loop(f"{name}.number", prod(sizes[:-1]), sizes[-1])


def _joined(loops: FloatLoops) -> None:
    """Each operand of a concatenation is a call, which copies run by run."""
    runs = loops.call.runs
    copies = prod(size or 0 for size in loops.call.output_dims) // sum(runs)
    for index, run in enumerate(runs):
        loops.add("join", 1, copy=copies)
        loops.moved("join.run", copies, run, _even((copies,), (0, run), (sum(runs[:index]), sum(runs))))


def _even(sizes: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]) -> int:
    """How many blocks, of an array of such sizes, have an even count of numbers in front of them in both tensors.

    `source`, `target`: what lies in front of the first block, and the step along each axis.
    """
    count = 0
    for corner in product((0, 1), repeat=len(sizes)):
        odd = {(start + sum(map(mul, steps, corner))) % 2 for start, *steps in (source, target)}
        if odd == {0}:
            count += prod(up(size - index, 2) for size, index in zip(sizes, corner, strict=True))
    return count


def _copied(loops: FloatLoops) -> None:
    loops.add("copy", 1)
    loops.moved("copy.numbers", 1, prod(loops.sizes.image), 1)


def _filtered(loops: FloatLoops) -> None:
    """A singular value decomposition filter: the memory moves on, then products of features and of their memory."""
    size, features, memory = loops.sizes, loops.call.filter_dims.n or 0, loops.sizes.filter_h
    every, units = size.n * features, size.out_c
    loops.add("svdf", 1, image=size.n)
    loops.elements("svdf.shift", every, memory - 1)
    loops.blocks("svdf.shift.block", every, memory - 1)
    for word, depth in (("feature", size.in_c), ("memory", memory)):
        name = f"svdf.{word}"
        loops.loop(name, every, depth // 4 if loops.mve and loops.kind.bytes == 4 else loops.vectors(depth))
        if loops.mve and loops.kind.bytes == 4:
            loops.loop(f"{name}.tail", every, depth % 4)
    single = 1 * (units == features and loops.call.bias)
    name = f"svdf.{'biased' if loops.call.bias else 'unbiased'}"
    loops.elements(f"{name}.single", size.n * single, units)
    loops.loop(name, size.n * (1 - single), units)
    loops.loop(f"{name}.rank", size.n * (1 - single) * units, features // max(1, units))
    loops.elements("svdf.clamp", 1, size.n * units)


def _larger_or_smaller(loops: FloatLoops) -> None:
    """Operands are compared flat as far as they agree; an axis in which they differ is a loop around that."""
    name = "max2" if loops.call.function is Function.MAXIMUM else "min2"
    first, second = (tuple(size or 0 for size in dims) for dims in (loops.call.input_dims, loops.call.filter_dims))
    loops.add(name, 1)
    loops.add(f"{name}.apart", 1 * (first != second))
    for axis in range(4):
        outer = prod(max(pair) for pair in zip(first[:axis], second[:axis], strict=True))
        rest = first[axis:], second[axis:]
        numbers = [prod(sizes) for sizes in rest]
        if rest[0] == rest[1]:
            loops.elements(f"{name}.alike_{axis}", outer, numbers[0])
            return
        if 1 in numbers:
            loops.elements(f"{name}.single_{axis}_{numbers.index(1)}", outer, max(numbers))
            return
        loops.add(f"{name}.axis_{axis}", outer)


COUNTERS: dict[str, Counter] = {
    "convolve_1x1_nhwc": _pointwise,
    **{f"nn_conv1d_k{taps}_{form}": _conv1d for taps in (3, 5) for form in ("nhwc", "packed")},
    "convolve_1_x_n_nhwc": _row_kernel,
    "convolve_nhwc_patch_gemm": _gathered_convolution,
    "convolve_nhwc": _direct,
    "nn_depthwise_conv3x3_nhwc": _channels_3x3,
    "nn_depthwise_conv1d_k3_nhwc": _channels_k3,
    "nn_depthwise_conv2x5_nhwc": _channels_2x5,
    "depthwise_conv_nhwc_fast_chmult1_kc_nt_t": _channels_tiled,
    "depthwise_conv_nhwc_fast_chmult1_kc": _channels_fast,
    "depthwise_conv_nhwc_to_conv_packed": _channels_as_convolution,
    "transpose_conv_wrapper": _transposed,
    "fully_connected_nhwc": _dense,
    "batch_matmul": _batch_product,
    **dict.fromkeys(("avg_pool", "max_pool"), _pool),
    **{f"nn_maxpool1d_{form}": _pool for form in ("k2s2_nhwc_noclip", "k2s2_nhwc", "k3s3_nhwc")},
    "elementwise_add": _flat("add"),
    "elementwise_mul": _flat("mul"),
    "batch_norm": _batch_norm,
    **dict.fromkeys(("softmax", "nn_softmax_1x2"), _softmax),
    "nn_activation": _activation,
    "pad": _pad,
    **{f"concatenation_{kind.name}_[wxyz]": _joined for kind in FLOAT_TYPES},
    "reshape": _copied,
    "svdf": _filtered,
    "transpose": _turned,
    "lstm_unidirectional": _recurrent,
    **dict.fromkeys(("maximum", "minimum"), _larger_or_smaller),
}
"""Function that an entry point calls, without `arm_` and the type, to its loops."""

MOST_PADDING = 1 << 12
"""Padding in front of an axis whose windows are looked at one by one."""
OF_ONE_CALL = (
    Function.BATCH_MATMUL,
    Function.MAXIMUM,
    Function.MINIMUM,
    Function.PAD,
    Function.TRANSPOSE,
    Function.LSTM,
    Function.CONCATENATION,
    Function.SVDF,
)
"""Functions whose loops are not counted for many calls at once."""
COPIES = (Function.PAD, Function.TRANSPOSE, Function.CONCATENATION, Function.RESHAPE)
"""Functions that move numbers and compute nothing."""
ALONE = ("convolve_1x1", "convolve_1_x_n")
"""Entry points for one kernel, whose functions the entry point for all convolutions calls too."""
SIGMOID, TANH, LEAKY_RELU = 33, 34, 38
"""Numbers of arm_nn_activation_type_flt."""
UNBIASED = ".unbiased"
"""Zeros are added faster to 0 than to a bias."""
FULL, ZERO = ".full", ".zero"
"""Data that decide where software computes: no number is 0; all of the input is."""
DATA = (".near", ".below", ".above")
"""Data that decide: all the same, far below one another, far above 0."""
SMALL = (".small", ".below", ".above")
"""The same for an LSTM, whose sums are near 0 or far from it."""


def deciding(call: KernelCall, isa: Isa) -> tuple[str, ...]:
    """Kinds of data between which a call's instructions lie; nothing where the data decide nothing.

    Exponentials of numbers that are far off are skipped: by C code, and by sigmoid in all code. Transposed convolutions
    skip inputs that are 0. Software multiplies and adds zeros faster than other numbers.
    """
    if call.floating is None:
        return ()
    code, curve = isa is not Isa.MVE, call.floating.activation
    pair = call.function is Function.SOFTMAX and call.input_dims == Dims(1, 1, 1, 2)
    skips = curve == SIGMOID or (code and (curve == TANH or call.function is Function.SOFTMAX))
    kinds = SMALL if call.function is Function.LSTM else DATA if pair or skips else ()
    skips_zeros = call.function is Function.TRANSPOSE_CONV and call.floating.zeros
    computes = skips_zeros or (isa is Isa.SCALAR and call.function not in COPIES)
    return (*kinds, FULL, ZERO) if computes else kinds


def float_counts(call: KernelCall, build: FloatBuild, taken: Route, data: str = "") -> Counts | None:
    """How often each piece of a call runs; None where a size is unknown, or the loops are not known.

    `data`: one of `deciding` for a call where they decide; for others empty.
    """
    sizes = sizes_of(call)
    if sizes is None or call.floating is None or taken.status != 0:
        return None
    one_call = call.function in OF_ONE_CALL or call.floating.scratch not in (0, AS_ASKED)
    if one_call and not isinstance(sizes.in_c * sizes.out_c, int):
        return None
    generic = f"arm_depthwise_conv_{call.types}_generic"
    name = taken.kernel.removeprefix("arm_").removesuffix(f"_{call.types}")
    if call.function is Function.CONCATENATION and not sum(call.runs):
        return None
    counter = _channels_generic if taken.kernel == generic else COUNTERS.get(name)
    kinds = deciding(call, build.isa)
    if counter is None or (data not in kinds if kinds else data) or max(sizes.pad_h, sizes.pad_w) > MOST_PADDING:
        return None
    loops = FloatLoops(call, sizes, build, taken, data)
    counter(loops)
    if call.entry.rpartition("_")[0] in ALONE:
        loops.add(call.entry.rpartition("_")[0], 1)
    told = data * (loops.software or data == ZERO) + UNBIASED * (data == ZERO and not call.bias)
    return {f"{piece}{told}": times for piece, times in loops.counts.items() if not isinstance(times, int) or times}
