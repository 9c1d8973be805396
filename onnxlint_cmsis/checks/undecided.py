"""Symbolic sizes leave questions about layers open.

A route, a hazard or a buffer size depends on a size that the model leaves symbolic. The linter does not guess:
it says once per model which sizes are missing. A symbolic first dimension of an input is taken as the batch and
is 1.

**What to do.** Give the sizes: `--input-shape input=1,3,96,96`, or `input-shapes` in the configuration.
"""

from __future__ import annotations

from onnxlint_cmsis.onnx_graph.graph import Graph
from onnxlint_cmsis.types import Finding, Level, Location

SHOWN = 3
"""How many layers the message names."""


def undecided_finding(graph: Graph, layers: set[str], sizes: set[str]) -> Finding:
    """Make the one finding of a model: how many layers are open, for want of which sizes, and what to give."""
    names = sorted(layers)
    listed = ", ".join(f"'{name}'" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    wanting = f" for want of {', '.join(sorted(sizes) or ['the rank of an operand'])}"
    text = f"{len(names)} layers cannot be decided{wanting}: {listed}."
    inputs = [_input(graph, name) for name in graph.inputs if _symbolic(graph, name)]
    if inputs:
        text += f" Symbolic inputs: {'; '.join(inputs)} (give sizes with --input-shape)."
    return Finding("CNN005", "undecided", Level.NOTE, text, Location(graph.path))


def _symbolic(graph: Graph, name: str) -> bool:
    shape = graph.shape(name)
    return shape is None or None in shape


def _input(graph: Graph, name: str) -> str:
    shape = graph.shape(name)
    return f"{name}={'?' if shape is None else ','.join('?' if size is None else str(size) for size in shape)}"
