"""Models, constants and classes that no fix can change, with the reason."""

from __future__ import annotations

from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
from onnxlint_cmsis.fixers.planning.layouts import growing
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.graph import Graph, Node


def check_model(graph: Graph) -> None:
    """Raise UnreadableError for a model that no fix can change: its external data are missing or refused."""
    for problem in graph.problems:
        if problem.kind == "external":
            raise UnreadableError(problem.message)


def can_change(graph: Graph) -> bool:
    """Tell whether `check_model` accepts a model."""
    try:
        check_model(graph)
    except NotAppliedError:
        return False
    return True


def check_constant(graph: Graph, key: str) -> None:
    """Refuse a constant whose values cannot be changed one by one.

    Raises:
        NotAppliedError: the constant is sparse, or stored in a form that is not edited.

    """
    if not graph.constants[key].editable:
        raise NotAppliedError(f"constant `{key}` is sparse or stored in a form that is not edited")


def refused(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that are not LOCKED and that no plan can be applied to, with the reason; by class id."""
    uses = Uses(graph, dimensions)
    reasons = {}
    for group in dimensions.classes:
        if group.freedom is not Freedom.LOCKED:
            try:
                _check_class(uses, group)
            except NotAppliedError as reason:
                reasons[group.id] = str(reason)
    return reasons


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
