"""The plan within the user's settings: a class changes only for a finding that a fix may act on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.answers import answered
from onnxlint_cmsis.planning.class_facts import asks, change_finding
from onnxlint_cmsis.planning.plan_model import ModelPlan, plan_model
from onnxlint_cmsis.planning.planning_input import planning_input

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis, Place
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.findings import Finding
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.planning.plan_options import FixOptions
    from onnxlint_cmsis.planning.price import Prices

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
    model: ModelAnalysis, prices: Prices, options: FixOptions, limits: PlanLimits, disproved: Collection[Place] = ()
) -> ModelPlan:
    """Plan until every class that changes answers a finding which a fix may act on; `disproved` as for `survey`."""
    view = planning_input(model, prices, partial(limits.fixable, model.graph))
    refused = dict(limits.refused)
    accepted: list[Finding] = []
    while True:
        found = plan_model(view, prices, options, refused, disproved)
        groups = [model.dimensions.classes[leaf] for leaf in found.decision.sizes]
        unasked = {group.id: UNASKED for group in groups if _unasked(found, group, limits, accepted)}
        if not unasked:
            return found._replace(accepted=tuple(accepted))
        refused |= unasked


def _unasked(found: ModelPlan, group: DimensionClass, limits: PlanLimits, accepted: list[Finding]) -> bool:
    """Whether a class lacks a finding to act on. Adds the finding that it keeps."""
    graph, finding = found.view.graph, change_finding(found, group)
    if limits.accepted(graph, finding):
        accepted.append(finding)
        return True
    sized = [finding] if asks(found, group, finding) else []
    if any(limits.fixable(graph, one) for one in chain(sized, answered(found, group))):
        return False
    accepted += sized
    return True
