"""Loops of functions for f32 and f16 that move numbers."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, product
from math import prod
from operator import mul

from onnxlint_cmsis.cmsis_nn.float.counted_loops import WIDEST, FloatLoops
from onnxlint_cmsis.cmsis_nn.loops.plane import up

MANY_TURNED = 128
"""Numbers from which MVE code of two axes takes a register full (arm_transpose_f32.c:46, arm_transpose_f16.c:47)."""


LEAST_TURNED = 7
"""Numbers that stay next to each other, from which gcc 12.2 takes vectors."""


def pad(loops: FloatLoops) -> None:
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


def turned(loops: FloatLoops) -> None:
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


def joined(loops: FloatLoops) -> None:
    """Count a call for each operand of a concatenation, which copies run by run."""
    runs = loops.call.runs
    copies = prod(size or 0 for size in loops.call.output_dims) // sum(runs)
    loops.add("join", len(runs), copy=len(runs) * copies)
    firsts = (begin % 2 for begin in accumulate(runs, initial=0))
    for (run, first), alike in Counter(zip(runs, firsts, strict=False)).items():
        even = _even((copies,), (0, run), (first, sum(runs)))
        loops.moved("join.run", alike * copies, run, alike * even)


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


def copied(loops: FloatLoops) -> None:
    """Count arm_reshape."""
    loops.add("copy", 1)
    loops.moved("copy.numbers", 1, prod(loops.sizes.image), 1)
