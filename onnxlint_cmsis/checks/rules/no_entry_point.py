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
from onnxlint_cmsis.checks.rules import fully_connected_per_channel
from onnxlint_cmsis.checks.subject import ModelSubject, node_location
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.types import Level, Statement

SHOWN = 3
"""How many nodes the message names."""

RULE = Rule(
    code="CNN190",
    name="no-entry-point",
    level=Level.NOTE,
    scope=RuleScope.MODEL,
    summary="The release has no kernel for a layer.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 3, 3] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--assume s4 --release 4.1.0",
    ),
    good=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 3, 3] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--assume s4 --release 5.0.0",
    ),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer whose entry point the release lacks, then those on nodes of no release."""
    return chain(_missing(subject), _foreign(subject))


def _missing(subject: ModelSubject) -> Iterator[Statement]:
    """Layers whose entry point the release lacks."""
    for layer in subject.layers():
        if layer.route.reason and not fully_connected_per_channel.concerns(layer):
            yield replace(layer.say(f"no kernel: {layer.route.reason}."), sources=layer.entry_sources())


def _foreign(subject: ModelSubject) -> Iterator[Statement]:
    """One statement per operator and reason, at its first node; it holds for every target."""
    nodes: dict[tuple[str, str, str], list[Node]] = {}
    for node, reason in subject.lowered.foreign:
        nodes.setdefault((node.domain, node.op_type, reason), []).append(node)
    for (_, _, reason), same in nodes.items():
        place = node_location(subject.model.graph.path, same[0])
        yield Statement(f"{_operator(same[0])} {_named(same)}: no kernel: {reason}.", place)


def _operator(node: Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _named(nodes: list[Node]) -> str:
    """`'n0', 'n2', 'n4', ... (5 nodes)`."""
    count = len(nodes)
    named = ", ".join(f"'{node.label}'" for node in nodes[:SHOWN]) + (", ..." if count > SHOWN else "")
    return named + (f" ({count} nodes)" if count > 1 else "")
