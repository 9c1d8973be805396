"""The plan within the user's settings: a class changes only for a finding that a fix may act on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import chain

from onnxlint_cmsis.analysis.analysis import ModelAnalysis, TensorIndex
from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan, plan_model
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.size_facts import asks, change_finding
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph

Asked = Callable[["Graph", "Finding"], bool]

UNASKED = "its findings are accepted, ignored or not fixable"
"""Why a class stays that would change otherwise."""


class PlanLimits(NamedTuple):
    """Classes that may not change, and the user's settings for findings."""

    refused: Mapping[int, str] = {}
    """Classes that must stay as they are, with the reason; by class id."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""


def agreed_plan(
    model: ModelAnalysis,
    prices: Prices,
    options: FixOptions,
    limits: PlanLimits,
    disproved: Collection[TensorIndex] = (),
) -> ModelPlan:
    """Plan until every class that changes answers a finding which a fix may act on; `disproved` as for `survey`."""
    view = planning_input(model, prices, partial(limits.fixable, model.graph))
    refused = dict(limits.refused)
    accepted: list[Finding] = []
    while True:
        plan = plan_model(view, prices, options, refused, disproved)
        groups = [model.dimensions.classes[leaf] for leaf in plan.decision.sizes]
        unasked = {group.id: UNASKED for group in groups if _unasked(plan, group, limits, accepted)}
        if not unasked:
            return plan._replace(accepted=tuple(accepted))
        refused |= unasked


def _unasked(plan: ModelPlan, group: DimensionClass, limits: PlanLimits, accepted: list[Finding]) -> bool:
    """Tell whether a class lacks a finding to act on. Adds the finding that it keeps."""
    from onnxlint_cmsis.fixers.planning.answers import answered

    graph, finding = plan.view.graph, change_finding(plan, group)
    if limits.accepted(graph, finding):
        accepted.append(finding)
        return True
    sized = [finding] if asks(plan, group, finding) else []
    if any(limits.fixable(graph, candidate) for candidate in chain(sized, answered(plan, group))):
        return False
    accepted += sized
    return True
