"""What the rules on sizes are told: the classes that a policy would change, and LOCKED ones with dead channels."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.algebra.axes import Form
from onnxlint_cmsis.checks.class_fact import ClassFact
from onnxlint_cmsis.checks.fix_actions import REMOVE, REPAIR
from onnxlint_cmsis.checks.registry import checks_of, codes_of, rule
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.subject import node_location
from onnxlint_cmsis.cmsis_nn.cost.measured import measured_build
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.dims.result import DimensionClass
from onnxlint_cmsis.planning.answers import answered
from onnxlint_cmsis.planning.plan_model import Survey
from onnxlint_cmsis.planning.policies import POLICIES
from onnxlint_cmsis.types import Finding, Freedom, Target


def class_findings(survey: Survey) -> Iterator[Finding]:
    """One finding for each class that would change, and one for each LOCKED class with dead channels."""
    for group in survey.view.dimensions.classes:
        if group.id in survey.decision.sizes:
            yield change_finding(survey, group)
        elif group.freedom is Freedom.LOCKED and _dead(survey, group) != (0, 0) and group.deciders:
            yield from _findings(_fact(survey, group, group.size))


def change_finding(survey: Survey, group: DimensionClass) -> Finding:
    """The finding on a class that would change."""
    (finding,) = _findings(_change(survey, group))
    return finding


def asks(survey: Survey, group: DimensionClass, finding: Finding) -> bool:
    """Whether the policy asks for a size for the sake of its own finding, not of a hazard or a missed kernel alone."""
    policy, decision, action = POLICIES[survey.options.policy], survey.decision, rule(finding.code).action
    if action is None or policy.name not in action.policies:
        return False
    return action is REMOVE or policy.lowers(decision.after) < policy.lowers(decision.without(group.id))


def _findings(fact: ClassFact) -> Iterator[Finding]:
    return (finding for check in checks_of(RuleScope.CLASS) for finding in check.findings(fact))


def _change(survey: Survey, group: DimensionClass) -> ClassFact:
    """A class that would change, with what the model would measure if all other classes changed but this one."""
    decision = survey.decision
    without = decision.without(group.id)
    pairs = zip(without.instructions, decision.after.instructions, strict=True)
    tensor, axis = _place(survey, group)
    fewer = sum(decision.after.hazards) < sum(without.hazards)
    return _fact(survey, group, decision.sizes[group.id])._replace(
        tensor=tensor,
        axis=axis,
        saved=tuple(old - new for old, new in pairs),
        measured=_other_builds(survey.prices.targets),
        bytes=decision.after.bytes - without.bytes,
        repaired=_repaired(survey, group) if fewer else (),
    )


def _fact(survey: Survey, group: DimensionClass, want: int) -> ClassFact:
    graph, (constants, unread) = survey.view.graph, _dead(survey, group)
    node = graph.nodes[(group.deciders or group.readers)[0].node]
    return ClassFact(group, want, node_location(graph.path, node), survey.prices.targets, constants, unread)


def _other_builds(targets: tuple[Target, ...]) -> tuple[str, ...]:
    """`cortex-m55 with CMSIS-NN 7.0.0`: builds of other releases than the targets' that predictions rest on."""
    return tuple(dict.fromkeys(measured_build(one) for one in targets if measured_on(one.release) != one.release))


def _dead(survey: Survey, group: DimensionClass) -> tuple[int, int]:
    """Constant and unread channels, as far as weights were read."""
    lanes = survey.lanes.classes.get(group.id) if survey.lanes else None
    return (len(lanes.constants), len(lanes.unread)) if lanes else (0, 0)


def _repaired(survey: Survey, group: DimensionClass) -> tuple[str, ...]:
    """`conv-1xn-wrong-values of 'row'`: what the model has now and only this new size takes away."""
    found = (finding for finding in answered(survey, group) if finding.code in codes_of(REPAIR))
    return tuple(dict.fromkeys(f"{one.properties['hazard']} of '{one.location.node}'" for one in found))


def _place(survey: Survey, group: DimensionClass) -> tuple[str, int]:
    """A tensor and axis that carry the class alone, the output of the first layer that decides it where it does."""
    made = [survey.view.graph.nodes[decider.node].outputs[0] for decider in group.deciders]
    for tensor, axis in sorted(group.members, key=lambda member: member[0] not in made):
        axes = survey.view.dimensions.axes(tensor)
        if axes and axes[axis].form is Form.LEAF and axes[axis].leaf == group.id:
            return tensor, axis
    return group.members[0]
