"""Nodes that ONNX's C++ shape inference crashes on or does not return from, kept out of its sight.

Each rule was found by feeding onnx 1.23 mutated models, and every operator of every version with inputs of no, odd
and small shapes: missing required inputs or types, sizes and axes out of all range.
Data propagation is not used at all: it makes one object per element of every rank-1 tensor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.functions import domain_of
from onnxlint_cmsis.formats.onnx.library import UNCHECKED
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.slicing import SLICE, SPLIT

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto


OPAQUE = "onnxlint_cmsis.opaque"
"""Domain that inference knows no operators of, so that it passes the node by."""


MAX_INT = 2**31 - 1
"""Largest size of an integer attribute that is no data."""


DATA_INTS = (CONSTANT, SLICE)
"""Operators whose integer attributes may be any number."""


EQUATION = rb"[A-Za-z., ]*(->[A-Za-z. ]*)?"


def hide_dangerous(graph: GraphProto, versions: dict[str, int]) -> None:
    """Make nodes that inference could crash on opaque, in place."""
    for node in graph.node:
        if _required_input_missing(node, versions) or _odd_attribute(node) or node.op_type in UNCHECKED:
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


def _odd_attribute(node: NodeProto) -> bool:
    """An attribute with a value that its operator cannot have."""
    operator = operator_of_proto(node)
    for attribute in node.attribute:
        huge = any(abs(value) > MAX_INT for value in (attribute.i, *attribute.ints))
        if huge and operator not in DATA_INTS:  # it is no axis and no size of anything
            return True
        if operator is SPLIT and attribute.name == "num_outputs" and attribute.i != len(node.output):
            return True
        if node.op_type == "Einsum" and attribute.name == "equation" and not re.fullmatch(EQUATION, attribute.s):
            return True
        if node.op_type == "GatherND" and attribute.name == "batch_dims" and attribute.i < 0:
            return True
    return False
