"""Models and constants that no fix can change, such as a model without its external data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.formats.onnx_graph.topology import duplicate_outputs

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph


def check_model(graph: Graph) -> None:
    """Refuse a model that no fix can change. Edits need one maker for each value.

    Raises:
        NotAppliedError: two nodes make the same value.
        UnreadableError: external data are missing or refused.

    """
    for problem in graph.problems:
        if problem.kind == "external":
            raise UnreadableError(problem.message)
    for problem in duplicate_outputs(graph, frozenset()):
        raise NotAppliedError(f"{problem.node} {problem.message}")


def can_change(graph: Graph) -> bool:
    """Whether `check_model` accepts a model."""
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
