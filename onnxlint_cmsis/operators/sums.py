"""In which numbers a layer sums: its record says, or the types of its tensors do."""

from __future__ import annotations

from onnxlint_cmsis.algebra.number_types import is_whole
from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Sums


def sums_of(graph: Graph, node: Node) -> Sums | None:
    """FLOAT, INTEGERS or SCALED for a layer; None for other operators."""
    roles = operator_of(node).roles
    if roles.sums is not Sums.STORED:
        return roles.sums
    places = (*roles.data, *roles.weights)
    whole = {is_whole(graph.elem_type(node.inputs[place])) for place in places if place < len(node.inputs)}
    if whole == {False}:
        return Sums.FLOAT
    return Sums.INTEGERS if whole == {True} else Sums.SCALED
