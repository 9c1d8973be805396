"""What is said of nodes that no function of CMSIS-NN computes: one CNN190 for each operator and reason."""

from __future__ import annotations

from onnxlint_cmsis.checks.table import rule
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.layer import Lowered
from onnxlint_cmsis.types import Finding, Level, Location

CODE = "CNN190"
SHOWN = 3
"""How many nodes the message names."""


def foreign_findings(graph: Graph, lowered: Lowered) -> list[Finding]:
    """One note per operator and reason, at its first node; it holds for every target."""
    nodes: dict[tuple[str, str, str], list[Node]] = {}
    for node, reason in lowered.foreign:
        nodes.setdefault((node.domain, node.op_type, reason), []).append(node)
    return [_finding(graph, same, reason) for (_, _, reason), same in nodes.items()]


def _finding(graph: Graph, nodes: list[Node], reason: str) -> Finding:
    first, count = nodes[0], len(nodes)
    operator = f"{first.domain}.{first.op_type}" if first.domain else first.op_type
    named = ", ".join(f"'{node.label}'" for node in nodes[:SHOWN]) + (", ..." if count > SHOWN else "")
    total = f" ({count} nodes)" if count > 1 else ""
    place = Location(graph.path, first.label, first.op_type, first.outputs[0], first.graph, first.offset, first.length)
    return Finding(CODE, rule(CODE).name, Level.NOTE, f"{operator} {named}{total}: no kernel: {reason}.", place)
