"""The release has no kernel for a layer.

The chosen CMSIS-NN release has no entry point for the operator with these data types, or the operator has a
form that CMSIS-NN cannot express (three spatial dimensions, a grouped transpose convolution). The runtime has
to bring a kernel of its own: usually a plain reference loop, sometimes none. Where no release has one, this is told
once for each operator and reason.

**What to do.** Use a release that has the kernel (the message names the first), or another form of the
operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from onnxlint_cmsis.checks.rule import Example, Rule, RuleScope
from onnxlint_cmsis.checks.subject import ModelSubject, node_location
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.release_verdict import on_release
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.types import Level, Statement

SHOWN = 3
"""How many nodes the message names."""

RULE = Rule(
    code="CNN190",
    name="no-entry-point",
    level=Level.WARNING,
    scope=RuleScope.MODEL,
    summary="The release has no kernel for a layer.",
    docs=__doc__,
    bad=Example("""
g (int8[1, 4, 8, 8] x, int8[4, 4, 1, 1] w) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""),
    good=Example("""
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""),
    kinds=(
        Cause.NO_FUNCTION.value,
        Cause.RANK.value,
        Cause.ATTRIBUTE.value,
        Cause.AXIS.value,
        Cause.BROADCAST.value,
        Cause.OPERAND_CONSTANT.value,
        Cause.OPERAND_COMPUTED.value,
    ),
)
"""Causes that quantization does not decide; other rules claim the others."""


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer whose entry point the release lacks, then those on nodes of no release."""
    return chain(_missing(subject), _foreign(subject))


def _missing(subject: ModelSubject) -> Iterator[Statement]:
    """Layers whose entry point the release lacks, or has without what they need."""
    records = {record.node.index: record for record in subject.lowered.records}
    for layer in subject.layers():
        refusal = on_release(records[layer.layer.node.index], layer.route, layer.target.release)
        if refusal and refusal.cause in RULE.kinds:
            said = layer.say(f"no kernel: {refusal.reason}.")
            facts = {**said.properties, "verdict": refusal.verdict.value, "cause": refusal.cause.value}
            yield replace(said, level=Level.NOTE, sources=layer.entry_sources(), properties=facts)


def _foreign(subject: ModelSubject) -> Iterator[Statement]:
    """One statement per operator and reason, at its first node; it holds for every target."""
    groups: dict[tuple[str, str, str], list[LoweredLayer]] = {}
    for record in subject.lowered.beside:
        if record.cause not in RULE.kinds:
            continue
        groups.setdefault((record.node.domain, record.node.op_type, record.reason), []).append(record)
    for same in groups.values():
        yield _statement(subject.model.graph.path, same)


def _statement(path: str, records: list[LoweredLayer]) -> Statement:
    """What nodes of one operator and reason have in common; a warning where they multiply by weights."""
    first = records[0]
    facts: dict[str, str | int | float | bool] = {"verdict": first.verdict.value}
    if first.cause:
        facts["cause"] = first.cause.value
    return Statement(
        f"{_operator(first.node)} {_named([each.node for each in records])}: no kernel: {first.reason}.",
        node_location(path, first.node),
        level=Level.WARNING if any(each.weighted for each in records) else Level.NOTE,
        properties=facts,
    )


def _operator(node: Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _named(nodes: list[Node]) -> str:
    """`'n0', 'n2', 'n4', ... (5 nodes)`."""
    count = len(nodes)
    named = ", ".join(f"'{node.label}'" for node in nodes[:SHOWN]) + (", ..." if count > SHOWN else "")
    return named + (f" ({count} nodes)" if count > 1 else "")
