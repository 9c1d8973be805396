"""Loops of memcpy and memset: CMSIS-NN's own on MVE, the C library's elsewhere (newlib, by 16, 4 and 1)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, by_rest
from onnxlint_cmsis.ground.types import Isa


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
