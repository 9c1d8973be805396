"""The release has no kernel for a layer.

The release has no function for the operator with these data types, or the operator has a form that CMSIS-NN cannot
express (three spatial dimensions, a grouped transpose convolution). Other code has to run.

Reference code is a warning from
5 % on, below a note ([how it is counted](../cost.md#what-a-warning-is-worth)). A layer of multiply-accumulates that no
known code computes is an error, as in the rules on quantization. Nodes that cost nothing and those of CNN507 are left
out.

**What to do.** Use a release that has the kernel (the message names the first), or the form that the finding names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.fix_actions import REWRITE
from onnxlint_cmsis.checks.kernel_advice import DO, NOTHING, remedy_of, with_sizes
from onnxlint_cmsis.checks.quantization_checks import EFFECTS, WHO
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject, Subject
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.binary import without_shapes
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.elementwise import NO_FUNCTION
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import ENOUGH, percent, share_of_work, total
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.operators.answers import Elements

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

RULE = Rule(
    code="CNN190",
    name="no-entry-point",
    level=Level.ERROR,
    effect=Effect.REFERENCE,
    summary="The release has no kernel for a layer.",
    docs=__doc__,
    action=REWRITE,
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
    """Yield one statement for each node and target without a kernel; nodes of one reason and remedy weigh as one."""
    model = subject.model
    told: frozenset[int] = model.execution.judged.told if model.execution.judged else frozenset()
    for (_, reason, kind), members in _alike(subject).items():
        remedy = with_sizes(kind, model.graph, (member.record.node for member in members))
        weight = _weighed(model, [member.record for member in members])
        missing = any(
            member.decision.verdict is Outcome.NO_KERNEL and model.work[member.record.node.index].macs
            for member in members
        )
        operators = tuple(dict.fromkeys(_operator(member.record.node) for member in members))
        for member in members:
            node = member.record.node
            if model.work[node.index].effort != 0 and node.index not in told:
                others = ", ".join(name for name in operators if name != _operator(node))
                why = f"{reason}, nor for {others}" if others and reason == NO_FUNCTION else reason
                said = _statement(model, member, why, weight)
                level = Level.ERROR if missing else Level.NOTE if remedy == NOTHING else weight.level
                group = f"{member.decision.verdict.value}: {reason}: {remedy}"
                yield replace(said, level=level, group=group, remedy=remedy)


class _Missing(NamedTuple):
    record: LoweredLayer
    """The node."""
    decision: Decision
    """Why it has no entry point."""
    layer: Subject | None
    """The layer on the target that the reason is about; None where it holds for every target."""


def _alike(subject: ModelSubject) -> dict[tuple[Outcome, str, str], list[_Missing]]:
    """Nodes without a kernel by verdict, reason and remedy: on every target, or on those whose release lacks it."""
    offences = [
        _Missing(record, Decision(record.verdict, record.cause or Cause.NO_FUNCTION, record.reason), None)
        for record in subject.lowered.beside
    ]
    offences += [_Missing(*refusal) for refusal in subject.release_refusals]
    groups: dict[tuple[Outcome, str, str], list[_Missing]] = {}
    for offence in offences:
        node, decision = offence.record.node, offence.decision
        if decision.cause in DO and operator_of(node).elements is not Elements.MEASURED:
            key = decision.verdict, without_shapes(decision), remedy_of(subject.model.graph, node, decision)
            groups.setdefault(key, []).append(offence)
    return {_with_shapes(key, members): members for key, members in groups.items()}


def _with_shapes(key: tuple[Outcome, str, str], members: list[_Missing]) -> tuple[Outcome, str, str]:
    """The verdict, reason and remedy of nodes, with the shapes of their operands where these are the same."""
    verdict, _, remedy = key
    reasons = {member.decision.reason for member in members}
    return (verdict, reasons.pop(), remedy) if len(reasons) == 1 else key


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


def _statement(model: ModelAnalysis, missing: _Missing, reason: str, weight: _Weight) -> Statement:
    node, layer = missing.record.node, missing.layer
    facts: dict[str, str | int | float | bool] = {
        "verdict": missing.decision.verdict.value,
        "cause": missing.decision.cause.value,
    }
    if weight.share is not None:
        facts["share"] = weight.share
    verdict = missing.decision.verdict
    converted = node.index in model.execution.judgements  # and no condition of the runtime tells of it
    who = "what a converter writes for it decides who computes it" if converted else WHO[verdict]
    start = f"{_operator(node)} '{node.label}': {who}"
    return Statement(
        f"{start}{weight.text}: {reason}.",
        node_location(model.graph.path, node),
        targets=(layer.target.label,) if layer else (),
        sources=layer.entry_sources() if layer else (),
        properties=facts,
        brief=f"{start}{weight.brief}: {reason}.",
        effect=Effect.UNKNOWN if converted else EFFECTS[verdict],
    )
