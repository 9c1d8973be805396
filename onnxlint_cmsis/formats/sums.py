"""In which numbers a layer sums: its record says, or the types of its tensors do."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.element_ranges import is_whole
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Sums


def sums_of(graph: Graph, node: Node) -> Sums | None:
    """FLOAT, INTEGERS or SCALED for a layer; None for other operators."""
    roles = operator_of(node).roles
    if roles.sums is not Sums.STORED:
        return roles.sums
    places = (*roles.data, *roles.weights)
    whole = {is_whole(graph.elem_type(node.inputs[position])) for position in places if position < len(node.inputs)}
    if whole == {False}:
        return Sums.FLOAT
    return Sums.INTEGERS if whole == {True} else Sums.SCALED
