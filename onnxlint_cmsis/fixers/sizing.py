"""Channel counts decided and applied until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
from onnxlint_cmsis.fixers.progress import Progress, until_settled
from onnxlint_cmsis.fixers.snapshot import Snapshot, plan_of, resized_step
from onnxlint_cmsis.fixers.steps import Reasons, Resized
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError


class ClassesError(Exception):
    """A plan that cannot be applied, with the classes that cannot be resized even alone."""

    def __init__(self, text: str, classes: Reasons) -> None:
        super().__init__(text)
        self.classes = classes


def with_sizes(progress: Progress) -> Progress:
    """Decide and apply sizes until nothing changes. Raises ClassesError, UnreadableError."""
    return until_settled(progress, _resized)


def _resized(progress: Progress) -> Progress:
    plan = progress.state.plan
    return progress._replace(state=_applied(progress.state, plan)) if plan.decision.sizes else progress


def _applied(state: Snapshot, plan: ModelPlan) -> Snapshot:
    """The model with its decision applied. Raises ClassesError, UnreadableError."""
    try:
        return state.changed(plan_of(plan, state.request.options))
    except UnreadableError:
        raise
    except NotAppliedError as reason:
        raise ClassesError(str(reason), dict(_not_alone(state, plan))) from None


def _not_alone(state: Snapshot, plan: ModelPlan) -> Iterator[tuple[Resized, str]]:
    """Classes whose new size cannot be applied even without the others."""
    for leaf, size in plan.decision.sizes.items():
        alone = plan._replace(decision=plan.decision._replace(sizes={leaf: size}))
        try:
            state.editor.resized(state.data, state.graph, state.dimensions, plan_of(alone, state.request.options))
        except NotAppliedError as reason:
            yield resized_step(state, plan.view.dimensions.classes[leaf]), f"it cannot be changed: {reason}"
