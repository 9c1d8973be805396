"""A condition of a runtime: one row for each operator and condition."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.runtime import Runtime


class ConditionRow(NamedTuple):
    """What a runtime does with some operators where a condition holds."""

    cause: str
    """Cause of the finding, a key of the causes of the verdict's rule; empty is nothing to report."""
    verdict: Outcome
    """What becomes of the layer."""
    ops: tuple[str, ...]
    """Operators in TensorFlow Lite's words; none for every operator."""
    holds: Callable[[LayerFacts], bool]
    """The condition."""
    reason: str
    """Why, as a clause; `{op}` is the operator, `{told}` what `told` says of the layer."""
    source: str
    """File and lines of the runtime, at the newest revision that was reviewed."""
    since: str = ""
    """Day from which it holds; empty for always."""
    until: str = ""
    """Day from which it holds no more; empty for none."""
    level: Level | None = None
    """A milder level than the rule's."""
    sure: bool = True
    """False where what the converter writes decides."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layer too: it holds for one of them. Empty where `holds` alone decides."""
    behind: bool = False
    """Whether it is about a clamp behind the layer, which stays in CMSIS-NN where reference code clamps."""
    isas: tuple[Isa, ...] = ()
    """Instruction sets on which it holds alone, of layers that the others leave to CMSIS-NN; empty for all."""
    seen: bool = False
    """Whether the call was seen to do so, though the runtime was not run."""
    told: Callable[[LayerFacts], str | None] = lambda _: ""
    """What the layer has, as a clause."""

    def decides(self, facts: LayerFacts, runtime: Runtime) -> bool:
        """Tell whether the row decides about a layer in a revision, on some instruction set at least."""
        dated = self.since <= runtime.since and (not self.until or runtime.since < self.until)
        asked = (not self.ops or facts.op in self.ops) and (not self.causes or facts.cause in self.causes)
        return dated and asked and self.holds(facts)


def always(_facts: LayerFacts) -> bool:
    """A condition that always holds."""
    return True
