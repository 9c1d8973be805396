"""Optimisation levels of ONNX Runtime at which two models are comparable.

The default level decides: there, Q/DQ around a layer become an integer kernel, and integers have to agree bit for bit.
With optimisation off they have to as well, unless the model quantizes what it computed in float: a sum of floats taken
in another order differs in its last bit, and a value on the border between two steps may then go the other way, which
says nothing about the integers that a device computes. The level as it is shipped is run where its further optimisers
could act.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.elem_types import elem_name
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.formats.onnx_graph.subgraph_walk import all_graphs, all_nodes, attribute_tensors
from onnxlint_cmsis.operators.roles import Sums
from onnxlint_cmsis.proof.element_map import QUANTIZING
from onnxlint_cmsis.proof.onnx_runtime import Optimization

if TYPE_CHECKING:
    from onnx import ModelProto


def levels(model: ModelProto) -> list[Optimization]:
    """Levels at which both models are run, in order."""
    found = [Optimization.DEFAULT] if quantizes_floats(model) else [Optimization.DEFAULT, Optimization.NONE]
    return [*found, Optimization.SHIPPED] if _shipped_differs(model) else found


def quantizes_floats(model: ModelProto) -> bool:
    """Whether the model quantizes computed floats."""
    return any(operator_of_proto(node).elements in QUANTIZING for node in all_nodes(model))


def _shipped_differs(model: ModelProto) -> bool:
    """Whether `runtime.LOSSY` and the options that `runtime.EXACT` replaces could change what the model computes.

    They act behind a DequantizeLinear: on stored floats that a layer reads as weights or bias, or that are fused into
    its bias, and on a matrix product of dequantized weights.
    """
    nodes = list(all_nodes(model))
    dequantized = {name for node in nodes if operator_of_proto(node).dequantizes for name in node.output}
    if not dequantized:
        return False
    stored = set(_stored_floats(model))
    for node in nodes:
        record = operator_of_proto(node)
        if record.roles.sums is Sums.FLOAT:
            if record.roles.bias < 0 or any(name and name not in dequantized for name in node.input[1:]):
                return True
        elif not (record.quantizes or record.dequantizes) and stored.intersection(node.input):
            return True
    return bool(model.functions)


def _stored_floats(model: ModelProto) -> Iterator[str]:
    """Names of stored float tensors of more than one element."""
    for graph in all_graphs(model.graph):
        named = [(tensor.name, tensor) for tensor in graph.initializer]
        named += [(sparse.values.name, sparse.values) for sparse in graph.sparse_initializer]
        for node in graph.node:
            if not node.input:
                named += [(node.output[0], held) for one in node.attribute for held in attribute_tensors(one)]
        for name, tensor in named:
            if prod(tensor.dims) > 1 and elem_name(tensor.data_type).startswith(("float", "bfloat")):
                yield name
