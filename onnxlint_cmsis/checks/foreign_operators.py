"""What is said of nodes that no function of CMSIS-NN computes: one CNN190 for each operator and reason."""

from __future__ import annotations

from onnxlint_cmsis.checks.table import rule
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.types import Finding, Level, Location

CODE = "CNN190"
SHOWN = 3
"""How many nodes the message names."""


def foreign_findings(graph: Graph, lowered: Lowered) -> list[Finding]:
    """One finding per operator and reason, at its first node; it holds for every target."""
    groups: dict[tuple[str, str, str], list[LoweredLayer]] = {}
    for record in lowered.beside:
        groups.setdefault((record.node.domain, record.node.op_type, record.reason), []).append(record)
    return [_finding(graph, same) for same in groups.values()]


def _finding(graph: Graph, records: list[LoweredLayer]) -> Finding:
    first, count = records[0].node, len(records)
    operator = f"{first.domain}.{first.op_type}" if first.domain else first.op_type
    named = ", ".join(f"'{each.node.label}'" for each in records[:SHOWN]) + (", ..." if count > SHOWN else "")
    total = f" ({count} nodes)" if count > 1 else ""
    place = Location(graph.path, first.label, first.op_type, first.outputs[0], first.graph, first.offset, first.length)
    level = Level.WARNING if any(each.weighted for each in records) else Level.NOTE
    text = f"{operator} {named}{total}: no kernel: {records[0].reason}."
    facts: dict[str, str | int | float | bool] = {"verdict": records[0].verdict.value}
    if records[0].cause:
        facts["cause"] = records[0].cause.value
    return Finding(CODE, rule(CODE).name, level, text, place, properties=facts)
