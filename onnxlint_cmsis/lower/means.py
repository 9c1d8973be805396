"""Means and maxima over the plane or the time of an image, which a pool of the same window computes."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.model.graph import Graph, Node

MEANS = ("ReduceMean", "GlobalAveragePool")
"""Operators that may be such a mean."""
LARGEST = "ReduceMax"
"""Operator that may be such a maximum."""


def window_of_mean(graph: Graph, node: Node) -> tuple[int, ...]:
    """Kernel of the average pool that computes a mean: `(25, 5)`, `(1, 5)`, `(100,)`.

    Empty where the node is no mean over axes behind batch and channels of three or four, or a size is not known.
    """
    return _window(graph, node) if canonical(node) in MEANS else ()


def window_of_largest(graph: Graph, node: Node) -> tuple[int, ...]:
    """Kernel of the max pool that computes a maximum; empty where none does, as above."""
    return _window(graph, node) if canonical(node) == LARGEST else ()


def _window(graph: Graph, node: Node) -> tuple[int, ...]:
    shape = graph.shape(node.inputs[0])
    if shape is None or len(shape) not in (3, 4):
        return ()
    spatial = range(2, len(shape))
    reduces = canonical(node) in (MEANS[0], LARGEST)
    axes = {axis % len(shape) for axis in _axes(graph, node) or ()} if reduces else {*spatial}
    window = tuple((shape[axis] or 0) if axis in axes else 1 for axis in spatial)
    return window if axes and axes <= {*spatial} and all(window) else ()


def _axes(graph: Graph, node: Node) -> tuple[int, ...] | None:
    given = graph.constants.get(node.inputs[1]) if node.has(1) else None
    stored = given.integers() if given is not None and not given.overridable else None
    return node.ints("axes") or stored or None
