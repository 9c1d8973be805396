"""Loops of transposes (TransposeFunctions/arm_transpose_s8.c of 7.0.0 and main)."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, by_rest
from onnxlint_cmsis.ground.types import Isa

NARROW = {Isa.SCALAR: 6, Isa.DSP: 6, Isa.MVE: 7}
"""Longest line, in bytes, that gcc copies byte by byte."""


def transpose_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """A special loop turns two axes, and on MVE the last two of four. Others move element by element."""
    order, (images, height, width, channels) = sizes.permutation, sizes.image
    kept = len(order) == 4 and order[:2] == (0, 1)
    if len(order) == 2 or (kept and isa is Isa.MVE):
        return _turned(f"turned.of_{len(order)}", isa, sizes.image)
    last = order.index(len(order) - 1)
    adjacent = prod(sizes.output[-len(order) :][last + 1 :]) == 1
    name = f"transpose.of_{len(order)}.{'adjacent' if adjacent else 'apart'}"
    rows, pixels = images * height, images * height * width
    counts = {
        name: 1,
        f"{name}.image": images,
        f"{name}.row": rows,
        f"{name}.pixel": pixels,
    }
    if adjacent:
        return counts | _copied(name, isa, pixels, channels)
    return counts | {f"{name}.element": pixels * channels}


def _copied(name: str, isa: Isa, lines: int, length: int) -> Counts:
    """Lines whose elements stay next to each other; gcc copies longer ones than NARROW by vectors or words."""
    by = 8 if isa is Isa.MVE else 4
    wide = lines * (length > NARROW[isa])
    narrow = lines - wide
    counts = {f"{name}.narrow": narrow, f"{name}.narrow.element": narrow * length, f"{name}.wide": wide}
    counts |= dict(by_rest(f"{name}.wide", wide, length, by)[1:])
    if isa is not Isa.MVE:
        return counts | {f"{name}.word": wide * (length // 4)}
    return counts | {
        f"{name}.sixteen": wide * (length // 16),
        f"{name}.sixteen.enter": wide * (length >= 16),
        f"{name}.eight": wide * (length % 16 // 8),
    }


def _turned(name: str, isa: Isa, image: tuple[int, int, int, int]) -> Counts:
    """arm_transpose_s8_nhcw: on MVE eight elements of a channel at a time, elsewhere an element of a row."""
    images, height, width, channels = image
    rows = images * height
    counts = {name: 1, f"{name}.image": images, f"{name}.row": rows}
    if isa is Isa.MVE:
        return counts | {f"{name}.line": rows * channels, f"{name}.eight": rows * channels * up(width, 8)}
    return counts | {f"{name}.line": rows * width, f"{name}.element": rows * width * channels}
