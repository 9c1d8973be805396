"""Inputs whose sizes the model leaves symbolic."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph


def missing_sizes(graph: Graph) -> list[str]:
    """Inputs that lack sizes, as --input-shape takes them: `x=1,3,?,?`."""
    shapes = {name: graph.shape(name) for name in graph.inputs}
    return [f"{name}={_text(shape)}" for name, shape in shapes.items() if shape is None or None in shape]


def _text(shape: tuple[int | None, ...] | None) -> str:
    return "?" if shape is None else ",".join("?" if size is None else str(size) for size in shape)
