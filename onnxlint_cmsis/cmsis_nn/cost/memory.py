"""memcpy and memset: arm_memcpy_s8 and arm_memset_s8 on MVE, the C library's elsewhere (newlib, by 16, 4 and 1)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, by_rest
from onnxlint_cmsis.types import Isa


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
