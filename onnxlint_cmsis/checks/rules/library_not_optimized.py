"""CMSIS-NN was compiled without optimization.

At -O0 functions keep every variable on the stack: they take many times the stack that they take at -O1, -O2, -O3 or
-Os. person_detect takes 15 times the instructions on a Cortex-M4 by gcc (341 million in place of 23) and 7 times by
clang, hello_world, of three small dense layers, 7 and 4 times; with MVE on a Cortex-M55 they take 6 and 3 times by gcc,
3 and 2 times by clang. It is sure: no optimized build of the functions that are named takes so much stack, by gcc 12.2
and clang 19, at any level. Where gcc wrote its options (-g, or -frecord-gcc-switches) these tell it too.

Build systems often have one setting for C and another for C++: CMSIS-NN is C.

**What to do.** Compile the C files of CMSIS-NN with -O2 or -O3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.ground.words import and_more

TIMES = {"gcc": (7, 15), "clang": (4, 7)}
"""Instructions of hello_world and person_detect at -O0 by those at -O2 on a Cortex-M4: gcc 12.2, clang 19.1, QEMU."""
TIMES_MVE = {"gcc": (3, 6), "clang": (2, 3)}
"""The same on a Cortex-M55."""

RULE = Rule(
    code="CNN701",
    name="library-not-optimized",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="CMSIS-NN was compiled without optimization.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 with CMSIS-NN at -O0", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Name the function that takes most stack beyond what an optimized one takes."""
    library, files = subject.build.library, subject.build.library_levels.get("-O0")
    if library is None or (not library.large_frames and files is None):
        return
    times = _times(subject, TIMES_MVE if library.isa is Isa.MVE else TIMES)
    facts: dict[str, str | int | float | bool] = {}
    if library.large_frames:
        name, taken, most = library.large_frames[0]
        more = f", and {len(library.large_frames) - 1} more such" if len(library.large_frames) > 1 else ""
        why = f"{name} takes {taken:,} bytes of stack, an optimized one {most:,} at most{more}"
        facts = {"function": name, "frame": taken, "optimized_frame": most}
    else:
        why = f"gcc had no -O for {and_more(files) if files else 'C files'}"
    text = f"CMSIS-NN is not optimized (-O0): {why}. Models take {times} times the predicted instructions."
    yield subject.say(text, f"Optimize it: {subject.system.optimize}.", properties=facts)


def _times(subject: ImageSubject, by_compiler: Mapping[str, tuple[int, int]]) -> str:
    """`7 to 15`, or `4 to 15` where the image does not tell which of its compilers made CMSIS-NN."""
    makers = {compiler.setting.partition("@")[0].removeprefix("arm") for compiler in subject.build.compilers}
    ends = [by_compiler[maker] for maker in makers & by_compiler.keys()] or by_compiler.values()
    return f"{min(least for least, _ in ends)} to {max(most for _, most in ends)}"
