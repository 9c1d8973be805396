"""A normalization or a constant behind a float layer, which its weights and bias can hold."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.lower.unfolded import unfolded
from onnxlint_cmsis.model.graph import Graph, Node


def _nodes(graph: Graph) -> Iterator[Node]:
    return (pair.node for pair in unfolded(graph))


FOLD_CONSTANTS = RepairRow(
    name="fold-constants",
    what="puts a normalization or a constant behind a float layer into its weights and bias",
    price="nothing",
    free=True,
    rule="unfolded-constant",
    nodes=_nodes,
)
