"""Scales of tensors that DequantizeLinear made real, looked up through operators that only move elements."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.operators.registry import operator_of


def activation_scale(graph: Graph, name: str) -> float | None:
    """The scale that every element of a tensor is a whole multiple of; None for none."""
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(name)
        if producer is None or name in graph.constants:
            return None
        operator = operator_of(producer)
        if operator.dequantizes:
            scales = _values(graph, producer)
            return scales[0] if scales is not None and len(scales) == 1 else None
        if not operator.keeps_scale or name not in (producer.outputs if operator.moves else producer.outputs[:1]):
            return None
        name = producer.inputs[0]
    return None


def weight_scales(graph: Graph, name: str, axis: int) -> tuple[float, ...] | None:
    """Scales of dequantized constants: one, or one for each element of `axis`; None where they lie along another."""
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(name)
        if producer is None:
            return None
        operator = operator_of(producer)
        if operator.dequantizes:
            return _along(graph, producer, axis)
        if operator.elements not in (Elements.SAME, Elements.TRANSPOSED):
            return None
        name = producer.inputs[0]
        rank = len(graph.shape(name) or ())
        if operator.elements is Elements.TRANSPOSED and axis >= 0:
            order = producer.permutation(rank)
            axis = order[axis] if order and axis < rank else -1
    return None


def _along(graph: Graph, node: Node, axis: int) -> tuple[float, ...] | None:
    scales, shape = _values(graph, node), graph.shape(node.inputs[0])
    if scales is None or shape is None or node.inputs[0] not in graph.constants:
        return None
    own = 0 if len(shape) == 1 else node.int("axis", 1)
    own += len(shape) if own < 0 else 0
    return scales if len(scales) == 1 or (own == axis and shape[axis] == len(scales)) else None


def _values(graph: Graph, node: Node) -> tuple[float, ...] | None:
    """Scales of a Q/DQ node; None where they are computed, replaceable, in blocks, or of another type than float32."""
    constant = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if constant is None or constant.overridable or len(constant.shape) > 1 or node.int("block_size"):
        return None
    values = constant.values() if constant.elem_type == "float32" else None
    return tuple(float(value) for value in values) if values and all(value > 0 for value in values) else None
