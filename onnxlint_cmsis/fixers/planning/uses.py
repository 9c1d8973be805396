"""Where each stored constant is read, and with which axes."""

from __future__ import annotations

from onnxlint_cmsis.analysis.constants import Constants, Use
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.model.axes import Axis, leaves
from onnxlint_cmsis.model.graph import Graph, Node

Axes = tuple[Axis, ...]


class Uses(Constants):
    """Every use of the constants that the file stores: initializers and values of Constant nodes."""

    def __init__(self, graph: Graph, dimensions: Dimensions) -> None:
        super().__init__(graph, derived_values(graph))
        self.dimensions = dimensions
        self.by_key: dict[str, dict[Use, Axes]] = {}
        """Uses of a stored constant with the axes it has there; none where nothing is known of them."""
        self.by_leaf: dict[int, dict[str, None]] = {}
        """Stored constants that have a leaf in one of their axes."""
        for node in graph.nodes:
            for position, key in enumerate(node.inputs):
                if key and self.stored(key):
                    axes = self._axes(node, position, key)
                    self.by_key.setdefault(key, {})[node.index, position] = axes
                    for leaf in (leaf for axis in axes for leaf in leaves(axis)):
                        self.by_leaf.setdefault(leaf, {})[key] = None

    def handed_out(self, key: str) -> bool:
        """Tell whether a constant is an output of the model or of a subgraph, where its name cannot change."""
        bodies = (body for node in self.graph.consumers.get(key, ()) for body in node.bodies)
        return key in self.graph.ends or any(key in body.outputs for body in bodies)

    def _axes(self, node: Node, position: int, key: str) -> Axes:
        """Axes of one use: a vector has its own for each, anything else the same for all."""
        own = self.dimensions.input_axes(node.index, position)
        if own is not None:
            return own
        vector = sum(size != 1 for size in self.graph.constants[key].shape) <= 1
        return () if vector else self.dimensions.axes(key) or ()
