"""CNN201 and CNN202: the classes that a policy would change, and dead channels that are LOCKED."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.algebra.axes import Form
from onnxlint_cmsis.checks.actions import REMOVE, REPAIR
from onnxlint_cmsis.checks.table import Rule, rule
from onnxlint_cmsis.cmsis_nn.cost.measured import measured_build
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.dims.result import DimensionClass
from onnxlint_cmsis.planning.answers import answered
from onnxlint_cmsis.planning.plan_model import ModelPlan
from onnxlint_cmsis.planning.policies import POLICIES
from onnxlint_cmsis.types import Finding, Freedom, Level, Location, Resize, Target

SHOWN = 3
"""Layers that a message names."""


def size_findings(survey: ModelPlan) -> Iterator[Finding]:
    """One finding for each class that would change, and one for each LOCKED class with dead channels."""
    for group in survey.view.dimensions.classes:
        if group.id in survey.decision.sizes:
            yield change_finding(survey, group)
        elif group.freedom is Freedom.LOCKED:
            yield from _locked(survey, group)


def change_finding(survey: ModelPlan, group: DimensionClass) -> Finding:
    """The finding on a class that would change: CNN201 where it grows, CNN202 where it shrinks."""
    want = survey.decision.sizes[group.id]
    return _more(survey, group, want) if want > group.size else _fewer(survey, group, want)


def asks(survey: ModelPlan, group: DimensionClass, finding: Finding) -> bool:
    """Whether the policy asks for a size for the sake of its own finding, not of a hazard or a missed kernel alone."""
    policy, decision = POLICIES[survey.options.policy], survey.decision
    if finding.code not in policy.rules:
        return False
    return finding.code in REMOVE.codes or policy.lowers(decision.after) < policy.lowers(decision.without(group.id))


def _more(survey: ModelPlan, group: DimensionClass, want: int) -> Finding:
    return _finding(survey, group, want, rule("CNN201"), f"{group.size} -> {want} channels")


def _fewer(survey: ModelPlan, group: DimensionClass, want: int) -> Finding:
    text = f"{_dead(survey, group)}; {group.size} -> {want} channels"
    return _finding(survey, group, want, rule("CNN202"), text)


def _locked(survey: ModelPlan, group: DimensionClass) -> Iterator[Finding]:
    lanes = survey.lanes.classes.get(group.id) if survey.lanes else None
    if lanes is not None and (lanes.constants or lanes.unread) and group.deciders:
        text = f"{_node(group)}: {_dead(survey, group)}. LOCKED by {group.locks[0]}."
        place, labels = _location(survey, group), _labels(survey)
        row = rule("CNN202")
        yield Finding(row.code, row.name, Level.NOTE, text, place, labels)


def _finding(survey: ModelPlan, group: DimensionClass, want: int, row: Rule, what: str) -> Finding:
    """A finding on one class, with what the model would cost if all other classes changed but this one."""
    decision, targets = survey.decision, survey.prices.targets
    without = decision.without(group.id)
    saved = [old - new for old, new in zip(without.instructions, decision.after.instructions, strict=True)]
    grown = decision.after.bytes - without.bytes
    gains = ", ".join(f"{-gain:+,} on {target.cpu}" for gain, target in zip(saved, targets, strict=True))
    text = f"{_node(group)}: {what}: {gains} predicted instructions (not cycles{_measured(targets)}), {grown:+,} bytes."
    fewer = sum(decision.after.hazards) < sum(without.hazards)
    if fewer and (repaired := _repaired(survey, group)):
        text += f" This steps around {repaired}."
    text += f" {group.freedom.value}: {_layers(group)}."
    tensor, axis = _place(survey, group)
    names = tuple(decider.label for decider in group.deciders)
    resize = Resize("output_dims.c", tensor, axis, group.size, want, group.freedom, names)
    properties: dict[str, str | int | float | bool] = {
        f"instructions_saved.{target.cpu}": gain for target, gain in zip(targets, saved, strict=True)
    }
    return Finding(
        row.code, row.name, row.level, text, _location(survey, group), _labels(survey), resize,
        properties={**properties, "bytes_added": grown},
    )  # fmt: skip


def _measured(targets: tuple[Target, ...]) -> str:
    """`, measured on cortex-m55 with CMSIS-NN 7.0.0`: the builds of other releases than the targets'."""
    others = dict.fromkeys(measured_build(one) for one in targets if measured_on(one.release) != one.release)
    return f", measured on {' and '.join(others)}" if others else ""


def _repaired(survey: ModelPlan, group: DimensionClass) -> str:
    """`conv-1xn-wrong-values of 'row'`: what the model has now and only this new size takes away."""
    found = (finding for finding in answered(survey, group) if finding.code in REPAIR.codes)
    return " and ".join(dict.fromkeys(f"{one.properties['hazard']} of '{one.location.node}'" for one in found))


def _dead(survey: ModelPlan, group: DimensionClass) -> str:
    """`3 of 16 channels are constant, 2 are unread`."""
    lanes = survey.lanes.classes.get(group.id) if survey.lanes else None
    if lanes is None:
        return f"some of {group.size} channels can go"
    counts = [(len(lanes.constants), "constant"), (len(lanes.unread), "unread")]
    return f"of {group.size} channels " + " and ".join(f"{number} are {word}" for number, word in counts if number)


def _node(group: DimensionClass) -> str:
    layer = (group.deciders or group.readers)[0]
    return f"{layer.op_type} '{layer.label}'"


def _layers(group: DimensionClass) -> str:
    names = [f"'{decider.label}'" for decider in group.deciders]
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"{shown} {'decides' if len(names) == 1 else 'decide'} it"


def _place(survey: ModelPlan, group: DimensionClass) -> tuple[str, int]:
    """A tensor and axis that carry the class alone, the output of the first layer that decides it where it does."""
    made = [survey.view.graph.nodes[decider.node].outputs[0] for decider in group.deciders]
    for tensor, axis in sorted(group.members, key=lambda member: member[0] not in made):
        axes = survey.view.dimensions.axes(tensor)
        if axes and axes[axis].form is Form.LEAF and axes[axis].leaf == group.id:
            return tensor, axis
    return group.members[0]


def _location(survey: ModelPlan, group: DimensionClass) -> Location:
    graph = survey.view.graph
    node = graph.nodes[(group.deciders or group.readers)[0].node]
    return Location(graph.path, node.label, node.op_type, node.outputs[0], node.graph, node.offset, node.length)


def _labels(survey: ModelPlan) -> tuple[str, ...]:
    return tuple(target.label for target in survey.prices.targets)
