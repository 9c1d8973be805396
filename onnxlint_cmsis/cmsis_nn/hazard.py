"""A hazard: a call that goes wrong without an error, or that a function refuses."""

from __future__ import annotations

from math import ceil, floor, log10

from onnxlint_cmsis.cmsis_nn.compiler_defects import CompilerDefect
from onnxlint_cmsis.cmsis_nn.conditions import Condition, not_
from onnxlint_cmsis.cmsis_nn.rows import Origin
from onnxlint_cmsis.cmsis_nn.terms import Term, Values
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target

INEXACT = "inexact"
"""Kind of rows that routes keep apart from hazards: results are right within a known error."""


class Bound(NamedTuple):
    """How far a result may be off, where that is known."""

    number: Term
    """How many errors add up, in the variables the kernel sees."""
    largest: float
    """The largest that a single one can be."""
    words: str = ""
    """What stands behind the number: what it is a share of, `of the mean magnitude`, or what is off by it."""
    share: bool = False
    """Whether it is a share, and no distance."""

    def of(self, values: Values) -> float | None:
        """The bound for a call; None where a size is unknown."""
        number = self.number.evaluate(values)
        return None if number is None else number * self.largest

    def text(self, values: Values) -> str:
        """`0.025`, `51 % of the mean magnitude`, rounded up to two digits; empty where a size is unknown."""
        bound = self.of(values)
        if not bound:
            return ""
        bound *= 100 if self.share else 1
        unit = 10.0 ** (floor(log10(bound)) - 1)
        number = f"{ceil(round(bound / unit, 9)) * unit:,.6g}{' %' if self.share else ''}"
        return f"{number} {self.words}".rstrip()


class Hazard(NamedTuple):
    """A shape for which a kernel fails, is wrong, or leaves its memory."""

    id: str
    """Stable name in kebab case."""
    kind: str
    """`returns-error`, `wrong-result`, `overrun`, `too-large`, or `inexact` where results are off by a known part."""
    entries: tuple[str, ...]
    """Entry points it is reached through."""
    origin: Origin
    """Where it was read."""
    when: Condition
    """Shapes that meet it, in the variables the kernel sees."""
    brief: str
    """Predicate of a sentence about the kernel."""
    what: str
    """What happens and why, as one sentence."""
    of_kernels: tuple[str, ...] | None = None
    """Kernels of the chain that have it, where it is not the function of its origin; empty where any kernel has it."""
    way_round: str = ""
    """What a model's author can do, as one sentence; empty where nothing is known."""
    status: int | None = 0
    """Status returned; None where the call does not return one."""
    unsized: Condition | None = None
    """Condition for unknown sizes, in terms of the padding after; None for none."""
    breach: Condition | None = None
    """The part of `when` that messages give with its numbers; all of it where None, no numbers where TRUE."""
    reported: str = ""
    """Where it is reported upstream: `issue 109`."""
    assembly: bool = False
    """Whether inline assembly alone has it; a build with ARM_MATH_AUTOVECTORIZE has C code instead, which is right."""
    caller: bool = False
    """Whether it is for the caller to avoid (a buffer it must allocate) and so no defect of a model."""

    compiler: CompilerDefect | None = None
    """The compiler's defect that makes it, where the source is right."""
    bound: Bound | None = None
    """How far results are off at most, of a row of kind `inexact`."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels of the chain that have it; empty where it does not depend on the kernel."""
        return (self.origin.function,) if self.of_kernels is None else self.of_kernels

    def on(self, target: Target) -> bool | None:
        """Tell whether builds for a target have it; None where the compiler may make it."""
        if not self.origin.covers(target):
            return False
        return True if self.compiler is None else self.compiler.hits(target)

    def meets(self, values: Values) -> bool | None:
        """Tell whether a call meets it; None where unknown sizes leave it open."""
        truth = self.when.evaluate(values)
        return self.unsized.evaluate(values) if truth is None and self.unsized else truth

    def unknown(self, values: Values) -> frozenset[str]:
        """The variables that leave it open."""
        return frozenset() if self.meets(values) is not None else self.when.unknown(values)

    def numbers(self, values: Values) -> str:
        """Values of a call that meets the hazard, and the allowed values: `padding.w is 2; allowed: padding.w <= 1`.

        Empty where no number decides, or none is known.
        """
        held = (self.breach or self.when).holding(values)
        if not held and self.unsized:
            held = self.unsized.holding(values)
        have = ", ".join(dict.fromkeys(part.have(values) for part in held))
        return f"{have}; allowed: {' or '.join(not_(part).explain() for part in held)}" if held else ""
