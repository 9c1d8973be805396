"""Operators that may make NaN or infinity of a finite number: where there are none, nothing has to be carried."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Risk

LARGE = 2.0**16
"""Numbers beyond it take others out of the range of their type after a few steps; so do divisors below its inverse."""
SHORT_TYPES = ("float16", "bfloat16")


def risks(graph: Graph) -> list[Node]:
    """Nodes that may make a new lane NaN or infinite."""
    return [node for node in graph.nodes if _risky(node, graph)]


def _risky(node: Node, graph: Graph) -> bool:
    risk = operator_of(node).risk
    if risk is Risk.DIVISOR:
        return len(node.inputs) < 2 or not _is_scalar(graph, node.inputs[1]) or _any_extreme(node, graph, factor=True)
    if risk in (Risk.LARGE_OPERAND, Risk.EXTREME_FACTOR):
        return _any_extreme(node, graph, factor=risk is Risk.EXTREME_FACTOR)
    if risk is Risk.EPSILON:
        epsilon = node.attributes.get("epsilon", 1e-5)
        return not isinstance(epsilon, int | float) or epsilon <= 0
    if risk is Risk.SHORT_TYPE:
        return any(graph.elem_type(name) in SHORT_TYPES for name in node.outputs[:1])
    return risk is Risk.ALWAYS


def _is_scalar(graph: Graph, name: str) -> bool:
    constant = graph.constants.get(name)
    return constant is not None and prod(constant.shape) == 1 and constant.values() is not None


def _any_extreme(node: Node, graph: Graph, *, factor: bool) -> bool:
    """Tell whether a constant operand of one element is NaN, large, or as a factor or divisor close to 0."""
    constants = [graph.constants[name] for name in node.inputs if name in graph.constants]
    scalars = (
        abs(float(value)) for constant in constants if prod(constant.shape) == 1 for value in constant.values() or ()
    )
    return any(not size <= LARGE or (factor and size < 1 / LARGE) for size in scalars)
