"""What the rules of quantization share: nodes that CMSIS-NN does not compute for one reason make one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from onnxlint_cmsis.checks.subject import ModelSubject, node_location
from onnxlint_cmsis.checks.work_share import WORTH_A_WARNING, macs_of, share_of, work_of
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.release_verdict import on_release
from onnxlint_cmsis.lower.verdict import Cause, Decision, Verdict
from onnxlint_cmsis.types import Level, Statement

SHOWN = 3
"""How many nodes a message names."""


class Offence(NamedTuple):
    """Nodes that no function of CMSIS-NN computes for one reason."""

    decision: Decision
    """Who computes them instead, and why."""
    records: tuple[LoweredLayer, ...]
    """The nodes, in file order."""
    targets: tuple[str, ...] = ()
    """Labels of the targets whose release decides it; empty where the model's own facts do."""


Remedy = Callable[[Graph, Offence], str]
"""What to change about the quantization, as sentences."""


class QuantizationCheck(NamedTuple):
    """The nodes that are not computed for some causes."""

    causes: tuple[str, ...]
    """Causes it reports, as its rule claims them."""
    remedy: Remedy
    """What it says to do."""
    always_warn: bool = False
    """Whether plain code is worth a warning whatever its share of the work."""

    def __call__(self, subject: ModelSubject) -> Iterator[Statement]:
        """Yield one statement for each reason, at its first node."""
        for offence in offences(subject, self.causes):
            level = Level.WARNING if self.always_warn else None
            yield statement(subject, offence, self.remedy(subject.model.graph, offence), level)


def offences(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    """Nodes that the model's own facts keep off CMSIS-NN, one group for each reason, then those of a release."""
    groups: dict[tuple[Verdict, str], list[LoweredLayer]] = {}
    for record in subject.lowered.beside:
        if record.cause in causes:
            groups.setdefault((record.verdict, record.reason), []).append(record)
    for same in groups.values():
        first = same[0]
        yield Offence(Decision(first.verdict, first.cause or Cause.NO_FUNCTION, first.reason, first.code), tuple(same))
    yield from _of_releases(subject, causes)


def _of_releases(subject: ModelSubject, causes: tuple[str, ...]) -> Iterator[Offence]:
    records = {record.node.index: record for record in subject.lowered.records}
    groups: dict[Decision, dict[int, LoweredLayer]] = {}
    targets: dict[Decision, dict[str, None]] = {}
    for layer in subject.layers():
        record = records[layer.layer.node.index]
        refusal = on_release(record, layer.route, layer.target.release)
        if refusal and refusal.cause in causes:
            groups.setdefault(refusal, {})[record.node.index] = record
            targets.setdefault(refusal, {})[layer.target.label] = None
    for decision, found in groups.items():
        yield Offence(decision, tuple(found.values()), tuple(targets[decision]))


def statement(subject: ModelSubject, offence: Offence, remedy: str, level: Level | None = None) -> Statement:
    """What is said of nodes with one reason; plain code is milder than what cannot run, by its share of the work."""
    graph, decision = subject.model.graph, offence.decision
    share = share_of(macs_of(offence.records), macs_of(subject.lowered.records))
    parts = [f"{named([each.node for each in offence.records])}: {decision.reason}.", _instead(offence, share), remedy]
    return Statement(
        " ".join(part for part in parts if part),
        node_location(graph.path, offence.records[0].node),
        targets=offence.targets,
        level=level or _level(subject, offence),
        properties={
            "verdict": decision.verdict.value,
            "cause": decision.cause.value,
            "nodes": len(offence.records),
            "macs_share": round(share, 4),
        },
    )


def _instead(offence: Offence, share: float) -> str:
    """Who computes them, and how much of the model's work they are where they multiply by weights."""
    refused = offence.decision.verdict is Verdict.REFUSED
    who = "No function of CMSIS-NN computes" if refused else "Plain code computes"
    part = f", {share:.0%} of the model's multiply-accumulates" if share >= WORTH_A_WARNING else ""
    return f"{who} {'it' if len(offence.records) == 1 else 'them'}{part}."


def _level(subject: ModelSubject, offence: Offence) -> Level:
    if offence.decision.verdict is Verdict.REFUSED and any(each.weighted for each in offence.records):
        return Level.ERROR
    graph = subject.model.graph
    share = share_of(work_of(graph, offence.records), work_of(graph, subject.lowered.records))
    return Level.WARNING if share >= WORTH_A_WARNING else Level.NOTE


def named(nodes: list[Node]) -> str:
    """`Conv 'n0', 'n2', Gemm 'n4', ... (5 nodes)`."""
    words, last = [], ""
    for node in nodes[:SHOWN]:
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        words.append(f"'{node.label}'" if operator == last else f"{operator} '{node.label}'")
        last = operator
    count = f" ({len(nodes)} nodes)" if len(nodes) > 1 else ""
    return ", ".join(words) + (", ..." if len(nodes) > SHOWN else "") + count
