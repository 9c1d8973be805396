"""One pass forward: what is known of every tensor, from constants and from weights that are zero."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes import elementwise, joining, pooling, quantized
from onnxlint_cmsis.dims.lanes.layers import layer
from onnxlint_cmsis.dims.lanes.moving import MOVES, move_of
from onnxlint_cmsis.dims.lanes.sums import SUMS, weighted_of

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.elementwise import Forward
    from onnxlint_cmsis.dims.lanes.facts import Facts
    from onnxlint_cmsis.dims.lanes.known import Known
    from onnxlint_cmsis.dims.lanes.weighted import Weighted
    from onnxlint_cmsis.graph.model import Node

FORWARD: dict[tuple[str, str], Forward] = {
    **{("", name): rule for name, rule in elementwise.FORWARD.items()},
    **{("com.microsoft", name): elementwise.curve for name in ("Gelu",)},
    **quantized.FORWARD,
    **pooling.FORWARD,
    **joining.FORWARD,
}
"""Operators by domain and name; what has no row makes its outputs live."""


def forward(facts: Facts) -> dict[int, Weighted]:
    """Fill in the facts, node by node; returns the nodes that sum, by index."""
    found: dict[int, Weighted] = {}
    with np.errstate(all="ignore"):
        for node in facts.graph.nodes:
            if _complete(node) and not all(name in facts.graph.constants for name in node.outputs if name):
                with suppress(ValueError, IndexError):  # shapes that contradict each other, of which nothing follows
                    _node(node, facts, found)
            facts.derive(node)
    return found


def _node(node: Node, facts: Facts, sums: dict[int, Weighted]) -> None:
    if (node.domain, node.op_type) not in SUMS:
        for position, name in enumerate(node.outputs):
            if name:
                facts.learn(node, position, _value(node, facts, position))
        return
    weighted = weighted_of(node, facts)
    if weighted is not None:
        facts.learn(node, 0, layer(node, facts, weighted))
        sums[node.index] = weighted


def _complete(node: Node) -> bool:
    return bool(node.inputs and node.inputs[0] and node.outputs and node.outputs[0] and not node.bodies)


def _value(node: Node, facts: Facts, position: int) -> Known | None:
    if node.domain == "" and node.op_type in MOVES:
        known, move = facts.input(node, 0), move_of(node, facts, position)
        return None if known is None or move is None else known.map(move.forward)
    rule = FORWARD.get((node.domain, node.op_type))
    return rule(node, facts) if rule is not None and position == 0 and not any(node.outputs[1:]) else None
