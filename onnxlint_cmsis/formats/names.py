"""What a node is: the record of its operator, by the names of its format."""

from __future__ import annotations

from functools import lru_cache

from onnxlint_cmsis.formats.format import FORMATS, part
from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.model.graph import Node
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


def domain_of(name: str) -> str:
    """Domain of the format that has an operator of this name; empty where only ONNX may have it."""
    return next((domain for domain in NAMES if operator_named(domain, name) is not UNKNOWN), "")


def operator_of(node: Node) -> Operator:
    """Record of a node's operator, UNKNOWN where there is none."""
    return operator_named(node.domain, node.op_type)


def canonical(node: Node) -> str:
    """Name of the operator that a node is, whatever its format calls it; empty where it is not known."""
    return operator_of(node).canonical
