"""What no fix can change: a model without its external data, a constant in a form that is not edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.formats.onnx_graph.topology import duplicate_outputs

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph


def check_model(graph: Graph) -> None:
    """Raise NotAppliedError for a model that no fix can change, UnreadableError where external data are refused.

    Edits of a node and its readers take each value to be made once.
    """
    for problem in graph.problems:
        if problem.kind == "external":
            raise UnreadableError(problem.message)
    for problem in duplicate_outputs(graph, frozenset()):
        raise NotAppliedError(f"{problem.node} {problem.message}")


def can_change(graph: Graph) -> bool:
    """Whether a fix can change a model at all; see `check_model`."""
    try:
        check_model(graph)
    except NotAppliedError:
        return False
    return True


def check_constant(graph: Graph, key: str) -> None:
    """Raise NotAppliedError for a stored constant whose values cannot be changed one by one."""
    if not graph.constants[key].editable:
        raise NotAppliedError(f"constant `{key}` is sparse or stored in a form that is not edited")
