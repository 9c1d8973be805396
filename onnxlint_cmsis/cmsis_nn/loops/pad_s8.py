"""Loops of pads (PadFunctions/arm_pad_s8.c of 7.0.0 and main).

Input and output begin at addresses divisible by 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.cmsis_nn.loops.memory import block, copy_in_c, library_copy, library_fill
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, FrontSizes, LoopSizes, add
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa


class _Piece(NamedTuple):
    """A fill or copy that runs once for each image, row or pixel."""

    size: int
    """Bytes."""
    start: int
    """Address in the output, of the first one."""
    copied: bool = False
    """Whether it comes from the input."""


def pad_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """Fills before and after each image and row, and each pixel if channels are added; copies of rows or pixels."""
    front, rows = sizes.pad_front, sizes.n * sizes.in_h
    copy = copy_in_c if sizes.aligned else library_copy
    deeper = 1 * (sizes.out_c != sizes.in_c)
    counts = {"pad": 1, "pad.image": sizes.n, "pad.row": rows, "pad.pixel": rows * sizes.in_w * deeper}
    pixel, row = sizes.out_c, sizes.out_w * sizes.out_c
    image = sizes.out_h * row
    first = front.n * image
    line = first + front.h * row
    point = line + front.w * pixel
    behind = FrontSizes(
        sizes.out_n - sizes.n - front.n, sizes.out_h - sizes.in_h - front.h,
        sizes.out_w - sizes.in_w - front.w, sizes.out_c - sizes.in_c - front.c,
    )  # fmt: skip
    flat = sizes.in_w * sizes.in_c
    once = (_Piece(first, 0), _Piece(image * behind.n, first + sizes.n * image))
    each_image = (_Piece(row * front.h, first), _Piece(row * behind.h, line + sizes.in_h * row))
    each_row = (
        _Piece(pixel * front.w, line), _Piece((1 - deeper) * flat, point, copied=True),
        _Piece(pixel * behind.w, point + sizes.in_w * pixel),
    )  # fmt: skip
    each_pixel = (
        _Piece(deeper * front.c, point), _Piece(deeper * sizes.in_c, point + front.c, copied=True),
        _Piece(deeper * behind.c, point + front.c + sizes.in_c),
    )  # fmt: skip
    turns = ((sizes.n, image, sizes.in_h * flat), (sizes.in_h, row, flat), (sizes.in_w, pixel, sizes.in_c))
    for depth, pieces in enumerate((once, each_image, each_row, each_pixel)):
        for times, start, source in alignments(turns[:depth]):
            for piece in pieces:
                add(counts, _moved(isa, times, piece._replace(start=piece.start + start), source, copy))
    return counts


def _moved(
    isa: Isa, times: int, piece: _Piece, source: int, copy: Callable[[str, int, int, int, int], Counts]
) -> Counts:
    """One fill or copy, which memcpy makes; no call for zero bytes."""
    times = times * (piece.size > 0)
    if isa is Isa.MVE:
        return block(isa, "pad.copy" if piece.copied else "pad.fill", times, piece.size)
    if piece.copied:
        return copy("pad.copy", times, piece.size, source, piece.start)
    return library_fill("pad.fill", times, piece.size, piece.start)


def alignments(turns: tuple[tuple[int, int, int], ...]) -> Iterator[tuple[int, int, int]]:
    """Turns of nested loops by the alignment of their addresses: number, output and input address modulo 4.

    A loop is its number of turns, and the bytes from one turn to the next in the output and in the input.
    """
    if not turns:
        yield 1, 0, 0
        return
    (count, step, source_step), *inner = turns
    for first in range(min(4, count)):
        for times, start, source in alignments(tuple(inner)):
            yield times * ((count - first + 3) // 4), start + first * step, source + first * source_step
