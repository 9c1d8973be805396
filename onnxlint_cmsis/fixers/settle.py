"""Channel counts of a model decided and applied until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.fixers.snapshot import name_of, plan_of
from onnxlint_cmsis.proof.check_constants import disproved
from onnxlint_cmsis.rewrite.model_bytes import resized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis import Place
    from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot
    from onnxlint_cmsis.planning.plan_model import ModelPlan

MAX_ROUNDS = 8
"""Rounds of deciding and applying; each makes the model better, and two are the most that were ever needed."""


class ClassesError(Exception):
    """A plan that cannot be applied, with the classes that cannot be resized even alone."""

    def __init__(self, text: str, classes: Reasons) -> None:
        super().__init__(text)
        self.classes = classes


def settled(state: Snapshot, found: ModelPlan) -> Snapshot:
    """The model after as many rounds as change anything. Raises ClassesError, UnreadableError."""
    for _ in range(MAX_ROUNDS):
        if not found.decision.sizes:
            break
        state = _applied(state, found)
        found = surveyed(state)
    return state


def _applied(state: Snapshot, found: ModelPlan) -> Snapshot:
    """The model with its decision applied. Raises ClassesError, UnreadableError."""
    try:
        return state.changed(plan_of(found, state.request.options))
    except UnreadableError:
        raise
    except NotAppliedError as reason:
        raise ClassesError(str(reason), dict(_not_alone(state, found))) from None


def _not_alone(state: Snapshot, found: ModelPlan) -> Iterator[tuple[ClassName, str]]:
    """Classes whose new size cannot be applied even without the others."""
    for leaf, size in found.decision.sizes.items():
        alone = found._replace(decision=found.decision._replace(sizes={leaf: size}))
        try:
            resized(state.data, state.graph, state.dimensions, plan_of(alone, state.request.options))
        except NotAppliedError as reason:
            yield name_of(state, found.view.dimensions.classes[leaf]), f"it cannot be changed: {reason}"


def surveyed(state: Snapshot) -> ModelPlan:
    """The plan of a model, after a check at run time of the constants that it relies on."""
    wrong: set[Place] = set()
    while True:
        found = state.survey(wrong)
        more = _disproved(state, found) - wrong
        if not more:
            return found
        wrong |= more


def _disproved(state: Snapshot, found: ModelPlan) -> set[Place]:
    """Constants along the classes to cut that ONNX Runtime shows to be wrong."""
    if found.lanes is None:
        return set()
    classes = state.dimensions.classes
    cut = [classes[leaf] for leaf, want in found.decision.sizes.items() if want < classes[leaf].size]
    axes = [member for group in cut for member in group.members if member[0] in state.graph.producers]
    return disproved(state.data, state.path, state.request.analysis.input_shapes, found.lanes, axes)
