"""Sizes of a Reshape that puts what a new node makes in the shape of the old node's result."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.model.graph import Graph, Node

KEPT, REST = 0, -1
"""What a Reshape takes for a size that stays, and for all that is left."""
UNSIZED = "the sizes of its result are not known, or there are no elements"
"""Why a result cannot be reshaped to."""


def sizes_of_reshape(graph: Graph, node: Node) -> tuple[int, ...] | None:
    """Sizes of the result of a Gather or a pool; None where they are not known or the result has no elements.

    The batch stays what it is: where the file leaves it open, the graph has a 1.
    """
    before, after = (graph.shape(name) for name in (node.inputs[0], node.outputs[0]))
    if not before or after is None or 0 in after:
        return None
    first = node.int("axis") % len(before) if canonical(node) == "Gather" else 2
    sizes = [
        KEPT if axis < first and (size is None or not axis) else REST if size is None else size
        for axis, size in enumerate(after)
    ]
    return tuple(sizes) if sizes.count(REST) <= 1 else None
