"""Checks of numbers: nodes that CMSIS-NN does not compute for one reason are told of together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.quantizer_advice import brief_advice, option_apart
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.work import ENOUGH, SMALLEST, percent, share_of_work, total
from onnxlint_cmsis.model.node_location import node_location

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.runtimes.judged_layers import Consequence


class Offence(NamedTuple):
    """Nodes that no function of CMSIS-NN computes for one reason."""

    decision: Decision
    """Who computes them instead, and why."""
    records: tuple[LoweredLayer, ...]
    """The nodes, in file order."""
    targets: tuple[str, ...] = ()
    """Labels of the targets whose release decides it; empty where the model's own facts do."""


EFFECTS = {
    Outcome.CMSIS_NN: Effect.NOTE,
    Outcome.REFERENCE: Effect.REFERENCE,
    Outcome.NO_KERNEL: Effect.NO_KERNEL,
    Outcome.UNDECIDED: Effect.UNKNOWN,
}
"""What it does to whoever runs the model that a node is computed so."""


WHO = {Outcome.REFERENCE: "your reference code computes it", Outcome.NO_KERNEL: "no kernel computes it"}
"""Who computes a node beside CMSIS-NN where no runtime does, as a clause."""


Remedy = Callable[["Graph", Sequence[LoweredLayer]], str]
"""What to change about the quantization of some nodes, as sentences."""


class QuantizationCheck(NamedTuple):
    """The nodes that are not computed for some causes."""

    causes: tuple[str, ...]
    """Causes it reports, as its rule claims them."""
    remedy: Remedy
    """What it says to do."""
    always_warn: bool = False
    """Whether reference code is worth a warning whatever its share of the work."""

    def __call__(self, subject: ModelSubject) -> Iterator[Statement]:
        """Yield one statement for each node; those of one reason have one level, and the first says what mends all."""
        for offence in offences(subject, self.causes):
            level = Level.WARNING if self.always_warn else None
            yield from statements(subject, offence, self.remedy, level)


def offences(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    """Nodes that the model's own facts keep off CMSIS-NN, one group for each reason, then those of a release."""
    judged = subject.model.execution.judged
    elsewhere: frozenset[int] = judged.elsewhere if judged else frozenset()
    groups: dict[tuple[Outcome, str, str], list[LoweredLayer]] = {}
    for record in subject.lowered.beside:
        if record.cause in causes and record.node.index not in elsewhere:
            groups.setdefault((record.verdict, record.reason, _becomes(subject, record)), []).append(record)
    for same in groups.values():
        first = same[0]
        yield Offence(Decision(first.verdict, first.cause or Cause.NO_FUNCTION, first.reason, first.code), tuple(same))
    yield from _of_releases(subject, causes)


def _of_releases(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    groups: dict[Decision, dict[int, LoweredLayer]] = {}
    targets: dict[Decision, dict[str, None]] = {}
    for record, refusal, layer in subject.release_refusals:
        if refusal.cause in causes:
            groups.setdefault(refusal, {})[record.node.index] = record
            targets.setdefault(refusal, {})[layer.target.label] = None
    for decision, releases in groups.items():
        yield Offence(decision, tuple(releases.values()), tuple(targets[decision]))


def statements(
    subject: ModelSubject, offence: Offence, remedy: Remedy, level: Level | None = None
) -> Iterator[Statement]:
    """What is said of nodes with one reason; reference code is milder than no code, by its share of the work."""
    graph, decision, records = subject.model.graph, offence.decision, offence.records
    consequence, judged = _consequence(subject, records[0]), subject.model.execution.by_runtime
    share = share_of_macs(subject.model, records)
    facts: dict[str, str | int | float | bool] = {"verdict": decision.verdict.value, "cause": decision.cause.value}
    if share:
        facts["share"] = round(share, 4)
    if consequence:
        level = Level.ERROR if consequence.level is None else consequence.level
        facts["runtime"] = consequence.reason
    if level is None:
        refused = offence.decision.verdict is Outcome.NO_KERNEL and any(record.weighted for record in offence.records)
        level = Level.WARNING if is_much(subject.model, offence.records) else Level.NOTE
        level = Level.ERROR if refused else level
    for rank, record in enumerate(records):
        mending, option = option_apart(remedy(graph, records if rank == 0 else [record]))
        becomes = _becomes(subject, record)
        text = f"{described(record.node)}: {becomes or _instead(offence, share, judged=judged)}: {decision.reason}."
        where = node_location(graph.path, record.node)
        group = ": ".join(filter(None, (becomes, decision.reason)))
        more = {**facts, **({"option": option} if option else {})}
        said = Statement(text, where, offence.targets, level=level, properties=more, group=group)
        less = becomes or _instead(offence, share, judged=judged, brief=True)
        brief = f"{described(record.node)}: {less}: {decision.reason}."
        effect = consequence.effect if consequence else EFFECTS[decision.verdict]
        yield replace(said, remedy=mending, brief=brief, brief_remedy=brief_advice(mending), effect=effect)


def _becomes(subject: ModelSubject, record: LoweredLayer) -> str:
    """What the runtime makes of a node for this reason, as a clause; empty where CMSIS-NN is called directly."""
    consequence = _consequence(subject, record)
    return consequence.text if consequence else ""


def _consequence(subject: ModelSubject, record: LoweredLayer) -> Consequence | None:
    judged = subject.model.execution.judged
    return judged.consequences.get(record.node.index) if judged else None


def described(node: Node) -> str:
    """`Conv 'n0'`, with the domain in front where it is not the default one."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{node.label}'"


def share_of_macs(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> float:
    """Part of the model's multiply-accumulates, 0 where a size is unknown."""
    mine = total(model.work[record.node.index].macs for record in records)
    every = total(work.macs for work in model.work.values())
    return mine / every if mine and every else 0.0


def is_much(model: ModelAnalysis, records: Sequence[LoweredLayer]) -> bool:
    """Tell whether nodes in reference code are worth a warning; weights are, where a size is unknown."""
    share = share_of_work(model.work, [record.node.index for record in records])
    return any(record.weighted for record in records) if share is None else share >= ENOUGH


def _instead(offence: Offence, share: float, *, judged: bool, brief: bool = False) -> str:
    """Who computes them, and how much of the model's work they are where they multiply by weights, as a clause.

    `judged` is False where the application calls the functions itself, and brings reference code too.
    """
    refused = offence.decision.verdict is Outcome.NO_KERNEL
    who = "no kernel computes" if refused else f"{'' if judged else 'your '}reference code computes"
    part = "MACs" if brief else "model's multiply-accumulates"
    share_text = f" ({percent(share)} of the {part})" if share >= SMALLEST else ""
    count = len(offence.records)
    return f"{who} {'it' if count == 1 else f'these {count} nodes'}{share_text}"
