"""The form of a runtime's conditions: one row for each operator and condition."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.runtime import Runtime
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.types import Level


class ConditionRow(NamedTuple):
    """What a runtime does with some operators where a condition holds."""

    kind: str
    """What it is about; the rule of this kind reports it, and empty is nothing to report."""
    verdict: RuntimeVerdict
    """What becomes of the layer."""
    ops: tuple[str, ...]
    """Operators in TensorFlow Lite's words; none for every operator."""
    holds: Callable[[LayerFacts], bool]
    """The condition."""
    reason: str
    """Why, as a clause; `{op}` is the operator."""
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

    def decides(self, facts: LayerFacts, runtime: Runtime) -> bool:
        """Whether the row decides about a layer in a revision."""
        dated = self.since <= runtime.since and (not self.until or runtime.since < self.until)
        asked = (not self.ops or facts.op in self.ops) and (not self.causes or facts.cause in self.causes)
        return dated and asked and self.holds(facts)


def always(_facts: LayerFacts) -> bool:
    """A condition that always holds."""
    return True
