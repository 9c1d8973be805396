"""Values that are the same in every run: constants, and what is computed from constants alone."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.operators.answers import Elements


def derived_values(graph: Graph, *, sizes: bool = False) -> set[str]:
    """Outputs of the nodes that compute from constants alone, whatever their size; constants themselves excluded.

    With `sizes`, also of those that compute from sizes of tensors, and constants.
    """
    derived: set[str] = set()
    for node in graph.nodes:
        elements = operator_of(node).elements
        inputs = [name for name in node.inputs if name]
        known = all(name in graph.constants or name in derived for name in inputs)
        known |= sizes and elements is Elements.SIZES
        if inputs and known and elements not in (Elements.BODIES, Elements.RANDOM):
            derived.update(filter(None, node.outputs))
    return derived
