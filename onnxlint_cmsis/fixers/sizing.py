"""Channel counts decided and applied until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.snapshot import name_of, plan_of
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
    from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot


MAX_ROUNDS = 8
"""Rounds of deciding and applying; each makes the model better, and two are the most that were ever needed."""


class ClassesError(Exception):
    """A plan that cannot be applied, with the classes that cannot be resized even alone."""

    def __init__(self, text: str, classes: Reasons) -> None:
        super().__init__(text)
        self.classes = classes


def settled(state: Snapshot, plan: ModelPlan) -> Snapshot:
    """The model after as many rounds as change anything. Raises ClassesError, UnreadableError."""
    for _ in range(MAX_ROUNDS):
        if not plan.decision.sizes:
            break
        state = _applied(state, plan)
        plan = state.plan
    return state


def _applied(state: Snapshot, plan: ModelPlan) -> Snapshot:
    """The model with its decision applied. Raises ClassesError, UnreadableError."""
    try:
        return state.changed(plan_of(plan, state.request.options))
    except UnreadableError:
        raise
    except NotAppliedError as reason:
        raise ClassesError(str(reason), dict(_not_alone(state, plan))) from None


def _not_alone(state: Snapshot, plan: ModelPlan) -> Iterator[tuple[ClassName, str]]:
    """Classes whose new size cannot be applied even without the others."""
    for leaf, size in plan.decision.sizes.items():
        alone = plan._replace(decision=plan.decision._replace(sizes={leaf: size}))
        try:
            state.editor.resized(state.data, state.graph, state.dimensions, plan_of(alone, state.request.options))
        except NotAppliedError as reason:
            yield name_of(state, plan.view.dimensions.classes[leaf]), f"it cannot be changed: {reason}"
