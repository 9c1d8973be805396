"""A plan for another core, of a program that holds its calls as they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from firmware_check.predicted_hazards import Trouble
from onnxlint_cmsis.checks.rules import runtime_stops, runtime_wrong
from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.rule import Rule
    from onnxlint_cmsis.runtimes.executorch.plan import Plan


PLAN_KINDS: Mapping[Outcome, tuple[Rule, str]] = {
    Outcome.REFUSED: (runtime_stops.RULE, "returns-error"),
    Outcome.WRONG: (runtime_wrong.RULE, "overrun"),
    Outcome.UNDECIDED: (runtime_wrong.RULE, "too-large"),
}
"""What becomes of a call for its plan, to the rule that says so and the kind of hazard that shows the same."""


def defects_of_plan(plan: Plan | None, trouble: Trouble) -> Iterator[tuple[str, str]]:
    """Code of the rule with its cause, and what was seen of a plan for another core."""
    if plan is not None and plan.verdict is not None and plan.verdict in PLAN_KINDS:
        rule, kind = PLAN_KINDS[plan.verdict]
        if said := trouble.shown(kind):
            yield f"{rule.code}[{plan.cause}]", f"{'; '.join(said)}; as predicted: {plan.reason}"


def unseen_of_plan(plan: Plan | None, trouble: Trouble) -> Iterator[str]:
    """What is said of a plan whose effect did not occur; one that may have none says nothing."""
    if plan is not None and plan.verdict in (Outcome.REFUSED, Outcome.WRONG):
        rule, kind = PLAN_KINDS[plan.verdict]
        if not trouble.shown(kind):
            yield f"predicted {rule.code}[{plan.cause}], whose effect was not seen: {plan.reason}"
