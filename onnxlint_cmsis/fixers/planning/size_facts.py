"""Facts for the rules on sizes: classes that a policy would change, and LOCKED ones with dead channels."""

from __future__ import annotations

from collections.abc import Iterator
from operator import sub

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.checks.class_facts import ClassFact, NewCost
from onnxlint_cmsis.checks.fix_actions import REMOVE, REPAIR
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import checks_of, codes_of, rule
from onnxlint_cmsis.cmsis_nn.library import measured_build
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.fixers.planning.model_plan import ModelPlan
from onnxlint_cmsis.fixers.planning.policies import POLICIES
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import AxisForm
from onnxlint_cmsis.model.node_location import node_location


def class_findings(plan: ModelPlan) -> Iterator[Finding]:
    """One finding for each class that would change, and one for each LOCKED class with dead channels.

    Classes that grow to step around a hazard are left to the findings on that (see `class_repairs`).
    """
    for group in plan.view.dimensions.classes:
        if group.id in plan.decision.sizes:
            fact = _change(plan, group)
            if not (fact.grows and fact.repaired):
                yield from _findings(fact)
        elif group.freedom is Freedom.LOCKED and _dead(plan, group) != (0, 0) and group.deciders:
            yield from _findings(_fact(plan, group, group.size))


def class_repairs(plan: ModelPlan) -> tuple[ClassFact, ...]:
    """The classes that grow to step around a hazard."""
    groups = (group for group in plan.view.dimensions.classes if group.id in plan.decision.sizes)
    return tuple(fact for group in groups if (fact := _change(plan, group)).grows and fact.repaired)


def change_finding(plan: ModelPlan, group: DimensionClass) -> Finding:
    """The finding on a class that would change."""
    (finding,) = _findings(_change(plan, group))
    return finding


def asks(plan: ModelPlan, group: DimensionClass, finding: Finding) -> bool:
    """Tell whether the policy asks for the size itself, not only for a hazard's or a missed kernel's sake."""
    policy, decision, action = POLICIES[plan.options.policy], plan.decision, rule(finding.code).action
    if action is None or policy.name not in action.policies:
        return False
    return action is REMOVE or policy.lowers(decision.after) < policy.lowers(decision.without(group.id))


def _findings(fact: ClassFact) -> Iterator[Finding]:
    return (finding for check in checks_of(RuleScope.CLASS) for finding in check.findings(fact))


def _change(plan: ModelPlan, group: DimensionClass) -> ClassFact:
    """A class that would change, with the model's measures if only the other classes changed."""
    decision = plan.decision
    without = decision.without(group.id)
    pairs = zip(without.instructions, decision.after.instructions, strict=True)
    tensor, axis = _axis_of(plan, group)
    fewer = sum(decision.after.hazards) < sum(without.hazards)
    # Predictions may rest on builds of other releases: `cortex-m55 with CMSIS-NN 7.0.0`.
    targets = plan.prices.targets
    other_builds = [measured_build(target) for target in targets if measured_on(target.release) != target.release]
    return _fact(plan, group, decision.sizes[group.id])._replace(
        tensor=tensor,
        axis=axis,
        saved=tuple(old - new for old, new in pairs),
        measured=tuple(dict.fromkeys(other_builds)),
        bytes=decision.after.bytes - without.bytes,
        plan_saved=tuple(map(sub, decision.before.instructions, decision.after.instructions)),
        repaired=_repaired(plan, group) if fewer else (),
        became_known=tuple(_became_known(plan, group)),
    )


def _became_known(plan: ModelPlan, group: DimensionClass) -> Iterator[NewCost]:
    """For each target the layers of a class whose cost is unknown now and known with the plan's sizes."""
    sites = [site for site in plan.view.sites if group.id in site.leaves]
    sized = [(site, channels) for site in sites if (channels := site.channels(plan.decision.sizes)) is not None]
    rows = [(site.layer, plan.prices.of_layer(site.layer), plan.prices.at(site, new)) for site, new in sized]
    for index in range(len(plan.prices.targets)):
        costs = [
            (layer.node.label, has[index].instructions) for layer, had, has in rows if had[index].instructions is None
        ]
        known = [(label, cost) for label, cost in costs if cost is not None]
        yield NewCost(tuple(label for label, _ in known), sum(cost for _, cost in known))


def _fact(plan: ModelPlan, group: DimensionClass, want: int) -> ClassFact:
    graph, (constants, unread) = plan.view.graph, _dead(plan, group)
    node = graph.nodes[(group.deciders or group.readers)[0].node]
    return ClassFact(group, want, node_location(graph.path, node), plan.prices.targets, constants, unread)


def _dead(plan: ModelPlan, group: DimensionClass) -> tuple[int, int]:
    """Constant and unread channels, as far as weights were read."""
    lanes = plan.lanes.classes.get(group.id) if plan.lanes else None
    return (len(lanes.constants), len(lanes.unread)) if lanes else (0, 0)


def _repaired(plan: ModelPlan, group: DimensionClass) -> tuple[tuple[str, str], ...]:
    """Hazard and node of what the model has now and only this new size takes away."""
    from onnxlint_cmsis.fixers.planning.answers import answered

    findings = (finding for finding in answered(plan, group) if finding.code in codes_of(REPAIR))
    return tuple(dict.fromkeys((str(finding.properties["hazard"]), finding.location.node) for finding in findings))


def _axis_of(plan: ModelPlan, group: DimensionClass) -> tuple[str, int]:
    """A tensor and axis that carry the class alone; the output of a layer that decides it, if there is one."""
    outputs = [plan.view.graph.nodes[decider.node].outputs[0] for decider in group.deciders]
    for tensor, axis in sorted(group.members, key=lambda member: member[0] not in outputs):
        axes = plan.view.dimensions.axes(tensor)
        if axes and axes[axis].form is AxisForm.LEAF and axes[axis].leaf == group.id:
            return tensor, axis
    return group.members[0]
