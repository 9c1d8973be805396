"""Nodes that ONNX's C++ shape inference crashes on or does not return from, kept out of its sight.

Each rule was found by feeding onnx 1.23 mutated models, and every operator of every version with inputs of no, odd and
small shapes: missing required inputs or types, sizes and axes out of all range.
Data propagation is not used at all: it makes one object per element of every rank-1 tensor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.functions import domain_of
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.operators.control_operators import CONSTANT
from onnxlint_cmsis.operators.slicing_operators import SLICE, SPLIT

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

OPAQUE = "onnxlint_cmsis.opaque"
"""Domain that inference knows no operators of, so that it passes the node by."""
MAX_INT = 2**31 - 1
"""Largest size of an integer attribute that is no data."""
DATA_INTS = (CONSTANT, SLICE)
"""Operators whose integer attributes may be any number."""
EQUATION = re.compile(rb"[A-Za-z., ]*(->[A-Za-z. ]*)?")
UNCHECKED = ("EyeLike", "RegexFullMatch", "DictVectorizer", "LabelEncoder", "TreeEnsemble")
"""Operators whose inference uses the type of its input without asking whether it is known."""


def hide_dangerous(graph: GraphProto, versions: dict[str, int]) -> None:
    """Make nodes that inference could crash on opaque, in place."""
    for node in graph.node:
        if any(rule(node, versions) for rule in RULES):
            node.domain = OPAQUE


def _required_input_missing(node: NodeProto, versions: dict[str, int]) -> bool:
    """An empty name in the place of an input that may not be left out."""
    if "" not in node.input:
        return False
    from onnx import defs

    domain = domain_of(node.domain)
    version = versions.get(domain, 0)
    if not defs.has(node.op_type, version, domain):
        return False
    formal = defs.get_schema(node.op_type, version, domain).inputs
    optional = defs.OpSchema.FormalParameterOption.Optional
    return any(not name and i < len(formal) and formal[i].option != optional for i, name in enumerate(node.input))


def _huge_attribute(node: NodeProto, _versions: dict[str, int]) -> bool:
    """An integer that is no axis and no size of anything."""
    if operator_of_proto(node) in DATA_INTS:
        return False
    return any(abs(value) > MAX_INT for a in node.attribute for value in (a.i, *a.ints))


def _uneven_split(node: NodeProto, _versions: dict[str, int]) -> bool:
    """A Split that says another number of outputs than it has."""
    if operator_of_proto(node) is not SPLIT:
        return False
    return any(a.name == "num_outputs" and a.i != len(node.output) for a in node.attribute)


def _no_equation(node: NodeProto, _versions: dict[str, int]) -> bool:
    """An Einsum of other characters than an equation has."""
    if node.op_type != "Einsum":
        return False
    return any(a.name == "equation" and not EQUATION.fullmatch(a.s) for a in node.attribute)


def _unchecked(node: NodeProto, _versions: dict[str, int]) -> bool:
    """One of the operators that need a known input type, which it may not have."""
    return node.op_type in UNCHECKED


def _negative_batch(node: NodeProto, _versions: dict[str, int]) -> bool:
    """A GatherND with fewer than no batch dims."""
    return node.op_type == "GatherND" and any(a.name == "batch_dims" and a.i < 0 for a in node.attribute)


RULES: tuple[Callable[[NodeProto, dict[str, int]], bool], ...] = (
    _required_input_missing,
    _huge_attribute,
    _uneven_split,
    _no_equation,
    _negative_batch,
    _unchecked,
)
