"""CMSIS-NN within an image: which functions, for which instructions they were built, whether optimized, which releases.

`cmsis_nn_functions.json` (lab/image_functions.py) has, of each function in each release and instruction set, the file
and the functions of other files that it calls: what the linker had to put into the image with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.images.image import Image
from onnxlint_cmsis.images.thumb import Code, code_of

TABLE = Path(__file__).with_name("cmsis_nn_functions.json")
ISAS = (Isa.SCALAR, Isa.DSP, Isa.MVE)
"""In the order of the bits of the table."""
MEMCPY = ("memcpy", "__aeabi_memcpy", "__aeabi_memcpy4", "__wrap_memcpy")
INNER = ("arm_nn_mat_mult", "arm_nn_vec_mat", "arm_depthwise_conv_3x3", "arm_nn_depthwise_conv_nt_t")
"""Beginnings of the names of functions that read four bytes at a time in their inner loops."""
WIDENING = ("_to_q15", "_to_s16", "q7_to_q15_with_offset", "s8_to_s16_unordered_with_offset")
FEWEST_MEMCPY = 2
OFTEN = 604
"""Most bytes of stack of an optimized function for s8, s16 or s4 in fifteen vendors' libraries and thirteen builds."""
NOT_RELEASES = {"dc64e488": "5.0.0", "01dee38e": "6.0.0", "4ab83cc3": "main"}
"""Commits that TensorFlow Lite Micro brought, with the release that answers for each."""
MOST_FUNCTIONS = 2000


class LibraryUse(NamedTuple):
    """CMSIS-NN in an image."""

    functions: Mapping[str, Code]
    """Its functions, by name without a compiler's suffix."""
    isa: Isa | None
    """Extension that their code uses; None where no function is one that would."""
    releases: tuple[str, ...]
    """Releases that it can be, oldest first; none where it is none of those that are known."""
    inlined: bool
    """Whether the linker optimized across files, so that calls are missing."""

    @property
    def counted_instructions(self) -> str:
        """How many instructions of its functions are of MVE or SMLAD, as words."""
        codes = self.functions.values()
        mve, smlad = sum(code.mve for code in codes), sum(code.smlad for code in codes)
        return f"{mve:,} instructions of MVE and {smlad:,} SMLAD among {sum(code.instructions for code in codes):,}"

    @property
    def large_frames(self) -> tuple[tuple[str, int, int], ...]:
        """Functions that take more stack than optimized ones do: name, bytes, the most of an optimized one."""
        beyond = []
        for name, code in self.functions.items():
            most = frame_limit(name)
            if most is not None and code.frame > most:
                beyond.append((name, code.frame, table().frames[name][0]))
        return tuple(sorted(beyond, key=lambda row: (row[1] - row[2], row[0]), reverse=True))

    @property
    def telling_frames(self) -> tuple[str, ...]:
        """Functions whose stack tells whether they are optimized."""
        return tuple(name for name in self.functions if frame_limit(name) is not None)

    @property
    def copying(self) -> tuple[tuple[str, int], ...]:
        """Functions that call memcpy in their inner loops, with the number of calls in the code."""
        told = []
        for name, code in self.functions.items():
            count = sum(code.calls.get(copy, 0) for copy in MEMCPY)
            if count >= FEWEST_MEMCPY and (name.startswith(INNER) or name.endswith(WIDENING)):
                told.append((name, count))
        return tuple(sorted(told, key=lambda row: (-row[1], row[0])))


class FunctionRow(NamedTuple):
    """A function as some releases have it."""

    mask: int
    """A bit for each release and instruction set."""
    file: str
    """File that has it; empty for one that no other file can call."""
    calls: frozenset[str]
    """Functions of other files that it calls."""


class FunctionTable(NamedTuple):
    """What the record says."""

    sources: tuple[str, ...]
    """Releases and commits, oldest first."""
    functions: Mapping[str, tuple[FunctionRow, ...]]
    """Rows of each function."""
    frames: Mapping[str, tuple[int, int]]
    """Most bytes of stack that a function takes when it is optimized, least when it is not."""

    def row(self, function: str, bit: int) -> FunctionRow | None:
        """A function as one release has it for one instruction set."""
        return next((row for row in self.functions.get(function, ()) if row.mask >> bit & 1), None)


@cache
def table() -> FunctionTable:
    """The record, read now."""
    read = json.loads(TABLE.read_text(encoding="utf-8"))
    rows = {
        name: tuple(FunctionRow(mask, file, frozenset(calls)) for mask, file, calls in rows)
        for name, rows in read["functions"].items()
    }
    return FunctionTable(
        tuple(read["sources"]), rows, {name: (most, least) for name, (most, least) in read["frames"].items()}
    )


def frame_limit(function: str) -> int | None:
    """Bytes of stack that no optimized build of a function takes; None where the two cannot be told apart."""
    most, least = table().frames.get(function, (0, 0))
    most = max(most, OFTEN) if least > 3 * OFTEN else most
    return (most + least) // 2 if least > 2 * most + 128 else None


def library_use(image: Image) -> LibraryUse | None:
    """CMSIS-NN in an image; None where it has no function of it, or no symbols."""
    return use_of(functions_of(image), _is_inlined(image)) if image.symbols else None


def is_function(name: str) -> bool:
    """Tell whether a name is that of a function of CMSIS-NN."""
    return name.startswith("arm_") and name in table().functions


def functions_of(image: Image) -> dict[str, Code]:
    """The code of the functions that CMSIS-NN has, by name without what a compiler puts behind it."""
    functions: dict[str, Code] = {}
    for name, symbol in image.functions.items():
        plain = name.partition(".")[0]
        if is_function(plain) and len(functions) < MOST_FUNCTIONS:
            functions.setdefault(plain, code_of(image, symbol))
    return functions


def _is_inlined(image: Image) -> bool:
    """Tell if most functions of the library are local or clones (`.constprop.0`), as link-time optimization leaves."""
    whole = [
        symbol.local or "." in name
        for name, symbol in image.functions.items()
        if name.startswith("arm_") and any(row.file for row in table().functions.get(name.partition(".")[0], ()))
    ]
    return sum(whole) * 2 > len(whole)


def use_of(functions: Mapping[str, Code], inlined: bool, *, archive: bool = False) -> LibraryUse | None:
    """What functions tell of the library; in a whole archive every function is there, called or not."""
    if not functions:
        return None
    isa = _isa(functions)
    whole = _archived(frozenset(functions), isa) if archive else ()
    called = {name for code in functions.values() for name in code.calls} if archive else set()
    releases = whole or _releases(functions, isa, inlined, functions.keys() | called)
    return LibraryUse(functions, isa, releases, inlined)


def _isa(functions: Mapping[str, Code]) -> Isa | None:
    """The extension that code uses; None where none of the functions has other code for another."""
    if any(code.mve for code in functions.values()):
        return Isa.MVE
    multiplying = sum(code.smlad > 0 for code in functions.values())
    if any(code.dsp > code.smlad for code in functions.values()) or multiplying > 1:  # clang makes SMLAD of one loop
        return Isa.DSP
    telling = (
        *INNER,
        "arm_convolve_s8",
        "arm_elementwise",
        "arm_svdf",
        "arm_avgpool",
        "arm_q7_to_q15",
        "arm_s8_to_s16_unordered_with_offset",
    )
    return Isa.SCALAR if any(name.startswith(telling) for name in functions) else None


def _releases(functions: Mapping[str, Code], isa: Isa | None, inlined: bool, there: Set[str]) -> tuple[str, ...]:
    """Releases that have all the functions, whose calls are all `there` and no others."""
    bits = [
        (number, 3 * number + order)
        for number in range(len(table().sources))
        for order in range(len(ISAS))
        if isa is None or ISAS[order] is isa
    ]
    return named_releases({number for number, bit in bits if _can_be(functions, bit, inlined, there)})


def _can_be(functions: Mapping[str, Code], bit: int, inlined: bool, there: Set[str]) -> bool:
    """Tell whether the functions can be those of a release."""
    known = table()
    rows = {name: known.row(name, bit) for name in functions}
    if any(row is None for row in rows.values()):
        return False
    if inlined:
        return True
    for name, row in rows.items():
        if row is None or not row.calls <= there:
            return False
        if not row.file:  # what calls it may call: the record has no file of it
            continue
        allowed = _reachable(name, row, bit)
        for called in functions[name].calls:
            other = known.row(called, bit) if called.startswith("arm_") else None
            if other is not None and other.file not in ("", row.file) and called not in allowed:
                return False
    return True


def _reachable(name: str, row: FunctionRow, bit: int) -> frozenset[str]:
    """Functions that code can call which took in others of its own file, or of no file."""
    known = table()
    calls = set(row.calls)
    for other, rows in known.functions.items():
        there = next((candidate for candidate in rows if candidate.mask >> bit & 1), None)
        if there is not None and other != name and there.file in ("", row.file):
            calls |= there.calls
    return frozenset(calls)


def _archived(names: frozenset[str], isa: Isa | None) -> tuple[str, ...]:
    """Releases whose functions for the integer API are most like those of a library."""
    known = table()
    unlike: dict[int, int] = {}
    for number in range(len(known.sources)):
        for order, candidate in enumerate(ISAS):
            if isa is None or candidate is isa:
                bit = 3 * number + order
                theirs = {
                    name
                    for name, rows in known.functions.items()
                    if any(row.file and row.mask >> bit & 1 for row in rows) and name.startswith("arm_")
                }
                unlike[number] = min(unlike.get(number, len(known.functions)), len(theirs ^ _known(names)))
    least = min(unlike.values())
    return (
        named_releases({number for number, count in unlike.items() if count == least})
        if least * 10 <= len(names)
        else ()
    )


def _known(names: Iterable[str]) -> set[str]:
    return {name for name in names if any(row.file for row in table().functions.get(name, ()))}


def named_releases(numbers: set[int]) -> tuple[str, ...]:
    """Names of releases by their numbers; a commit goes by the release that answers for it."""
    sources = table().sources
    names = [sources[number] for number in sorted(numbers)]
    return tuple(dict.fromkeys(NOT_RELEASES.get(name, name) for name in names))
