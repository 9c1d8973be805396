"""Pairs of DequantizeLinear and QuantizeLinear that give back the integers they read."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.lower.find_quantization import of_input, of_result
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node


def useless_pairs(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """DequantizeLinear and the QuantizeLinear right behind it that has its type, scale and zero-point."""
    for node in graph.nodes:
        if not quantizes(node) or not node.inputs:
            continue
        before = graph.producers.get(node.inputs[0])
        if before is None or not dequantizes(before) or weights_behind(graph, node.inputs[0]):
            continue
        source, result = of_input(graph, node, 0), of_result(graph, node)
        if source is not None and result is not None and source.equals(result):
            yield before, node
