"""memcpy and memset: arm_memcpy_s8 and arm_memset_s8 on MVE, the C library's elsewhere (newlib, by 16, 4 and 1)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.sizes import Counts
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
    case = f"{name}.rest_{size % 4}"
    return {
        f"{case}": times,
        f"{case}.by_16": times * (size // 16),
        f"{case}.by_16.enter": times * (size >= 16),
        f"{case}.by_4": times * (size % 16 // 4),
        f"{case}.from_4": times * (size >= 4),
        f"{case}.from_8": times * (size >= 8),
    }


def widen(name: str, times: int, size: int) -> Counts:
    """`times` conversions of `size` values from 8 to 16 bits, by 4 and then one at a time."""
    counts = {f"{name}.by_4": times * (size // 4), f"{name}.by_4.enter": times * (size >= 4)}
    return counts | ({f"{name}.rest_{size % 4}": times} if size % 4 else {})
