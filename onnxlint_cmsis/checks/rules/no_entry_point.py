"""The release has no kernel for a layer.

The release has no function for the operator with these data types, or the operator has a form that CMSIS-NN cannot
express (three spatial dimensions, a grouped transpose convolution). Another kernel has to run, usually a plain loop.

There is one finding for each operator and reason, with the share of the model's work: from 5 % on a warning, below a
note ([how it is counted](../cost.md#what-a-warning-is-worth)). Nodes that cost nothing and those of CNN507 are left
out.

**What to do.** Use a release that has the kernel (the message names the first), or another form of the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.kinds import EFFECTS
from onnxlint_cmsis.checks.rule import Example, ModelSubject, Rule, Subject
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.layer import Cause, Decision, Verdict
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.work import ENOUGH, percent, share_of_work, total
from onnxlint_cmsis.model.graph import Node, node_location
from onnxlint_cmsis.operators.record import Elements

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

DO = {
    Cause.NO_FUNCTION: "Train with an operator that CMSIS-NN has, or leave it to reference code.",
    Cause.RANK: "Reshape it to the dimensions that the function takes.",
    Cause.ATTRIBUTE: "Export it without what the reason names.",
    Cause.AXIS: "Transpose in front, so that it runs over the last axis.",
    Cause.BROADCAST: "Give both operands one shape.",
    Cause.OPERAND_CONSTANT: "Fold the constant into the layer in front.",
    Cause.OPERAND_COMPUTED: "Nothing, or make the operand a constant.",
}
"""What to do about each cause."""
OWN_CODE = "Write it in the application, or train with an operator that CMSIS-NN has."
"""What to do where neither CMSIS-NN nor other known code computes it."""

RULE = Rule(
    code="CNN190",
    name="no-entry-point",
    level=Level.WARNING,
    effect=Effect.REFERENCE,
    summary="The release has no kernel for a layer.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8, 8] x) => (float[N, C, D, H, W] y) <float[4, 4, 1, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=tuple(cause.value for cause in DO),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node and target without a kernel; nodes of one operator and reason weigh as one."""
    told: frozenset[int] = subject.model.judged.told if subject.model.judged else frozenset()
    for (_, reason), members in _by_reason(subject).items():
        weight = _weighed(subject.model, [member.record for member in members])
        for member in members:
            index = member.record.node.index
            if subject.model.work[index].effort != 0 and index not in told:
                yield _statement(subject.model.graph.path, member, reason, weight)


class _Missing(NamedTuple):
    """A node without a kernel."""

    record: LoweredLayer
    """The node."""
    decision: Decision
    """Why it has no entry point."""
    layer: Subject | None
    """The layer on the target that the reason is about; None where it holds for every target."""


def _by_reason(subject: ModelSubject) -> dict[tuple[str, str], list[_Missing]]:
    """Nodes without a kernel by operator and reason: on every target, and those that a target's release lacks."""
    offences = [
        _Missing(record, Decision(record.verdict, record.cause or Cause.NO_FUNCTION, record.reason), None)
        for record in subject.lowered.beside
    ]
    offences += [_Missing(*refusal) for refusal in subject.release_refusals]
    groups: dict[tuple[str, str], list[_Missing]] = {}
    for offence in offences:
        dynamic = operator_of(offence.record.node).elements is Elements.MEASURED
        if offence.decision.cause in DO and not dynamic:
            groups.setdefault((_operator(offence.record.node), offence.decision.reason), []).append(offence)
    return groups


class _Weight(NamedTuple):
    """How much of a model's work nodes do."""

    level: Level
    """Level of what is said of them."""
    text: str
    """Their share, in brackets; empty where it is unknown."""
    brief: str
    """Their share in few words."""
    share: float | None
    """Part of 1; None where it is unknown."""


def _weighed(model: ModelAnalysis, records: Iterable[LoweredLayer]) -> _Weight:
    nodes = {record.node.index: record for record in records}
    share = share_of_work(model.work, nodes)
    if share is None:
        weighted = any(record.weighted for record in nodes.values())
        return _Weight(Level.WARNING if weighted else Level.NOTE, "", "", None)
    mine, unit = total(model.work[index].macs for index in nodes), "multiply-accumulates"
    if not mine:
        mine, unit = total(model.work[index].elements for index in nodes) or 0, "elements gone over"
    alike = "" if len(nodes) == 1 else "all such nodes: "
    text = f" ({alike}{percent(share)} of the model's work, {mine:,} {unit})"
    brief = f" ({alike}{percent(share)} of the work)"
    return _Weight(Level.WARNING if share >= ENOUGH else Level.NOTE, text, brief, round(share, 4))


def _operator(node: Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _statement(path: str, missing: _Missing, reason: str, weight: _Weight) -> Statement:
    node, layer = missing.record.node, missing.layer
    facts: dict[str, str | int | float | bool] = {
        "verdict": missing.decision.verdict.value,
        "cause": missing.decision.cause.value,
    }
    if weight.share is not None:
        facts["share"] = weight.share
    operator, verdict = _operator(node), missing.decision.verdict
    nobody = verdict is not Verdict.REFERENCE
    who = "the application has to compute it" if nobody else "reference code computes it"
    start = f"{operator} '{node.label}': {who}"
    return Statement(
        f"{start}{weight.text}: {reason}.",
        node_location(path, node),
        targets=(layer.target.label,) if layer else (),
        sources=layer.entry_sources() if layer else (),
        level=weight.level,
        properties=facts,
        group=f"{operator}: {reason}",
        remedy=OWN_CODE if nobody and missing.decision.cause is Cause.NO_FUNCTION else DO[missing.decision.cause],
        brief=f"{start}{weight.brief}: {reason}.",
        effect=EFFECTS[verdict],
    )
