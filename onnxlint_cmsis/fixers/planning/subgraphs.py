"""Subgraphs that a class lies in: a loop cannot be proven, a branch only if an input leads into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.operators.control import IF

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
    from onnxlint_cmsis.analysis.proof_results import IfBranch
    from onnxlint_cmsis.model.graph import Graph, Node


class Holder(NamedTuple):
    """A subgraph by the node that has it."""

    node: Node
    """If, Loop, Scan, or an unknown operator."""
    attribute: str
    """`then_branch`, `else_branch`, `body`."""


def unprovable(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that reach into subgraphs that no input is shown to run, with the reason; by class id."""
    holders = holders_of(graph)
    refusals = {}
    for group in dimensions.classes if holders else ():
        reasons = [_reason(chain) for chain in _chains(graph, holders, group)]
        if group.freedom is not Freedom.LOCKED and any(reasons):
            refusals[group.id] = next(filter(None, reasons))
    return refusals


def branches_of(graph: Graph, group: DimensionClass) -> frozenset[IfBranch]:
    """Branches of If in the main graph that a class reaches into."""
    from onnxlint_cmsis.analysis.proof_results import IfBranch

    chains = _chains(graph, holders_of(graph), group)
    return frozenset(
        IfBranch(node.name or node.outputs[0], node.inputs[0], attribute == "then_branch")
        for node, attribute in (chain[-1] for chain in chains)
        if operator_of(node) is IF
    )


def holders_of(graph: Graph) -> dict[str, Holder]:
    """The holder of each subgraph by its path."""
    return {body.path: Holder(node, body.attribute) for node in graph.nodes for body in node.bodies}


def _chains(graph: Graph, holders: dict[str, Holder], group: DimensionClass) -> set[tuple[Holder, ...]]:
    """Subgraphs around each node along a class, innermost first; none for nodes of the main graph."""
    paths: set[str] = set()
    for tensor, _ in group.members:
        if tensor in graph.producers:
            paths.add(graph.producers[tensor].graph)
        paths.update(node.graph for node in graph.consumers.get(tensor, ()))
    return {chain for path in paths if (chain := tuple(_around(holders, path)))}


def _around(holders: dict[str, Holder], path: str) -> Iterator[Holder]:
    while path in holders:
        yield holders[path]
        path = holders[path].node.graph


def _reason(chain: tuple[Holder, ...]) -> str | None:
    """Why these subgraphs cannot be proven; None where they can."""
    for node, attribute in chain:
        if operator_of(node) is not IF:
            return f"a change in the {attribute} of {node.label} cannot be proven: whether that is run is not known"
    if len(chain) > 1:
        outer = chain[-1].node.label
        return f"a change in {chain[0].node.label}, inside a branch of {outer}, cannot be proven"
    return None
