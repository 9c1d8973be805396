"""How ONNX Runtime optimises two models that have to agree, and what it says of their outputs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.proof.element_map import QUANTIZING
from onnxlint_cmsis.fixers.proof.onnx_runtime import Optimization
from onnxlint_cmsis.formats.names import UNKNOWN
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.formats.onnx.tensors import elem_name
from onnxlint_cmsis.formats.onnx.walk import all_graphs, all_nodes, attribute_tensors
from onnxlint_cmsis.model.roles import Sums
from onnxlint_cmsis.operators.answers import Elements

if TYPE_CHECKING:
    from onnx import ModelProto


UNIT = (0.0, 1.0)
"""Bounds that outputs are measured against whatever is seen of them."""


def unit_outputs(model: ModelProto) -> frozenset[str]:
    """Outputs that hold nothing but values of operators whose range is 0 to 1."""
    producers = {name: node for node in model.graph.node for name in node.output}
    names = set()
    for value in model.graph.output:
        pending, unit = [value.name], True
        while pending and unit:
            node = producers.get(pending.pop())
            operator = UNKNOWN if node is None else operator_of_proto(node)
            if node is not None and operator.moves:
                pending.extend(node.input if operator.elements is Elements.JOINED else node.input[:1])
            else:
                unit = operator.bounds == UNIT
        if unit:
            names.add(value.name)
    return frozenset(names)


def levels(model: ModelProto) -> list[Optimization]:
    """Levels at which both models are run, in order.

    At the default level, Q/DQ around a layer become an integer kernel, whose integers agree bit for bit. Without
    optimisation they agree as well, unless the model quantizes computed floats: a sum of floats in another order
    differs in its last bit, which may turn a value between two steps the other way and says nothing about a device.
    """
    comparable = [Optimization.DEFAULT] if quantizes_floats(model) else [Optimization.DEFAULT, Optimization.NONE]
    return [*comparable, Optimization.SHIPPED] if _shipped_differs(model) else comparable


def quantizes_floats(model: ModelProto) -> bool:
    """Tell whether the model quantizes computed floats."""
    return any(operator_of_proto(node).elements in QUANTIZING for node in all_nodes(model))


def _shipped_differs(model: ModelProto) -> bool:
    """Tell whether `LOSSY` and the options that `EXACT` replaces could change what the model computes.

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
                tensors = (tensor for attribute in node.attribute for tensor in attribute_tensors(attribute))
                named += [(node.output[0], tensor) for tensor in tensors]
        for name, tensor in named:
            if prod(tensor.dims) > 1 and elem_name(tensor.data_type).startswith(("float", "bfloat")):
                yield name
