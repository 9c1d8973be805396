"""Stored constants, values derived from them alone, and the nodes that read both."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from onnxlint_cmsis.graph.model import Graph, Node

Use = tuple[int, int]
"""`Node.index` and input."""


class Constants:
    """Stored constants, initializers and values of Constant nodes, and tensors computed from them."""

    def __init__(self, graph: Graph, derived: Collection[str]) -> None:
        self.graph = graph
        self.derived = derived
        """Tensors computed from constants alone (`operators.derived.derived_values`)."""

    def stored(self, key: str) -> bool:
        """Whether the file itself holds the value, so that it can be edited."""
        return self.graph.stores(key)

    def constant(self, key: str) -> bool:
        """Whether a tensor is stored or computed from stored ones alone."""
        return key in self.graph.constants or key in self.derived

    def consumers(self, key: str) -> Iterator[tuple[Node, int]]:
        """Nodes and inputs that read a tensor."""
        for node in self.graph.consumers.get(key, ()):
            yield from ((node, position) for position, name in enumerate(node.inputs) if name == key)
