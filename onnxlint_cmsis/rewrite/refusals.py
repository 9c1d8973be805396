"""Classes that the analysis leaves free but whose tensors cannot be edited in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.rewrite.changeable import check_constant
from onnxlint_cmsis.rewrite.constant_layouts import growing
from onnxlint_cmsis.rewrite.uses import Uses
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.result import DimensionClass, Dimensions
    from onnxlint_cmsis.graph.model import Graph, Node


def refused(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that are not LOCKED and that no plan can be applied to, with the reason; by class id."""
    uses = Uses(graph, dimensions)
    found = {}
    for group in dimensions.classes:
        if group.freedom is not Freedom.LOCKED:
            try:
                _check_class(uses, group)
            except NotAppliedError as reason:
                found[group.id] = str(reason)
    return found


def _check_class(uses: Uses, group: DimensionClass) -> None:
    """Raise NotAppliedError where one more lane of a class cannot be written."""
    graph = uses.graph
    for tensor, _ in group.members:
        producer = graph.producers.get(tensor)
        for node in (*([producer] if producer else []), *graph.consumers.get(tensor, ())):
            check_node(graph, node)
    for key, changed in growing(uses, group).items():
        for index, _ in changed:
            check_node(graph, graph.nodes[index])
            check_constant(graph, key)


def check_node(graph: Graph, node: Node) -> None:
    """Raise NotAppliedError for a node that the file has once for several calls."""
    if graph.has_functions and node.graph:
        raise NotAppliedError(f"{node.label} is in a local function or a subgraph of a model with such functions")
