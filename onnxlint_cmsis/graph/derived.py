"""Values that are the same in every run: constants, and what is computed from constants alone."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph

RUN_TIME_SOURCES = frozenset(
    {"If", "Loop", "Scan", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"}
)
"""Operators whose output is no constant even if all their inputs are."""


def derived_values(graph: Graph, *, sizes: bool = False) -> set[str]:
    """Outputs of the nodes that compute from constants alone, whatever their size; constants themselves excluded.

    With `sizes`, also of those that compute from sizes of tensors, and constants.
    """
    derived: set[str] = set()
    for node in graph.nodes:
        inputs = [name for name in node.inputs if name]
        known = all(name in graph.constants or name in derived for name in inputs)
        known |= sizes and node.is_op("Shape", "Size")
        if inputs and known and node.op_type not in RUN_TIME_SOURCES:
            derived.update(filter(None, node.outputs))
    return derived
