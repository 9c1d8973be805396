"""What the functions for f32 and f16 have in common that count their loops: pieces added up, and windows outside."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.cmsis_nn.cost_records import FloatBuild
from onnxlint_cmsis.cmsis_nn.float.both_types import FLOAT_TYPES, FloatType
from onnxlint_cmsis.cmsis_nn.loops.memory import library_block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.ground.types import FloatCall, Isa, KernelCall

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
        rows = sum(beside(size.in_h, size.out_h, (size.filter_h, size.stride_h, size.pad_h, size.dilation_h)))
        columns = sum(beside(size.in_w, size.out_w, (size.filter_w, size.stride_w, size.pad_w, size.dilation_w)))
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


def beside(size: int, windows: int, window: tuple[int, int, int, int]) -> tuple[int, int]:
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
