"""What a node is: the record of its operator, by the names of its format."""

from __future__ import annotations

from functools import lru_cache

from onnxlint_cmsis.formats.format import FORMATS, part
from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.intervals import is_whole
from onnxlint_cmsis.model.roles import Sums
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.record import Operator

NOT_KNOWN = NotFollowed("the operator is not known")
NAMES = {row.domain: row.names for row in FORMATS if row.domain}
"""Where the table of each format is, by the domain of its operators; the others are ONNX's."""
UNKNOWN = Operator("", NOT_KNOWN, Elements.COMPUTED, Risk.NONE, Layout.EITHER, new_lane=NOT_KNOWN)
"""Record of every operator that no table has."""


@lru_cache(maxsize=1024)
def operator_named(domain: str, name: str) -> Operator:
    """Record of an operator by its format's table, UNKNOWN where there is none; ONNX's default domain is "".

    The table of a format is loaded with the first of its operators.
    """
    own = NAMES.get(domain)
    if own is not None:
        operator: Operator = part(own).get(name, UNKNOWN)
        return operator
    return OPERATORS.get((domain, name), UNKNOWN)


def operator_of(node: Node) -> Operator:
    """Record of a node's operator, UNKNOWN where there is none."""
    return operator_named(node.domain, node.op_type)


def canonical(node: Node) -> str:
    """Name of the operator that a node is, whatever its format calls it; empty where it is not known."""
    return operator_of(node).canonical


# Values that are the same in every run: constants, and what is computed from constants alone.


def derived_values(graph: Graph, *, sizes: bool = False) -> set[str]:
    """Outputs of the nodes that compute from constants alone, whatever their size; constants themselves excluded.

    With `sizes`, also of those that compute from sizes of tensors, and constants.
    """
    derived: set[str] = set()
    for node in graph.nodes:
        elements = operator_of(node).elements
        inputs = [name for name in node.inputs if name]
        known = all(name in graph.constants or name in derived for name in inputs)
        known |= sizes and elements is Elements.SIZES
        if inputs and known and elements not in (Elements.BODIES, Elements.RANDOM):
            derived.update(filter(None, node.outputs))
    return derived


# In which numbers a layer sums: its record says, or the types of its tensors do.


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
