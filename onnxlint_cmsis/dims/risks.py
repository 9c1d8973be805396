"""Operators that may make NaN or infinity of a finite number: where there are none, nothing has to be carried."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from onnxlint_cmsis.graph.model import Graph, Node

RISKY = frozenset(
    {
        *("Acos", "Acosh", "Asin", "Atanh", "Cosh", "Exp", "Log", "Reciprocal", "Sinh", "Sqrt"),
        *("LpNormalization", "MeanVarianceNormalization", "Mod", "Pow", "ReduceLogSum", "ReduceProd"),
    }
)
"""Operators that are not defined on some numbers, or grow so fast that the result may be too large."""
NORMALIZATIONS = ("InstanceNormalization", "LayerNormalization", "RMSNormalization")
"""Operators that divide by a deviation and epsilon."""
SUMS = ("Add", "Clip", "Max", "Mean", "Min", "Sub", "Sum", "Where")
PRODUCTS = ("Div", "Mul", "PRelu")
LARGE = 2.0**16
"""Numbers beyond it take others out of the range of their type after a few steps; so do divisors below its inverse."""


def risks(graph: Graph) -> list[Node]:
    """Nodes that may make a new lane NaN or infinite."""
    return [node for node in graph.nodes if node.domain == "" and _risky(node, graph)]


def _risky(node: Node, graph: Graph) -> bool:
    name = node.op_type
    if name in RISKY:
        return True
    if name == "Div" and not _is_scalar(graph, node.inputs[1]):
        return True
    if name in SUMS or name in PRODUCTS:
        return any(_extreme(value, name in PRODUCTS) for value in _scalars(node, graph))
    if name in NORMALIZATIONS:
        epsilon = node.attributes.get("epsilon", 1e-5)
        return not isinstance(epsilon, int | float) or epsilon <= 0
    return name in ("Cast", "CastLike") and graph.elem_type(node.outputs[0]) in ("float16", "bfloat16")


def _is_scalar(graph: Graph, name: str) -> bool:
    constant = graph.constants.get(name)
    return constant is not None and prod(constant.shape) == 1 and constant.values() is not None


def _scalars(node: Node, graph: Graph) -> Iterator[float]:
    """Constants of one element among the operands."""
    for name in node.inputs:
        constant = graph.constants.get(name)
        if constant is not None and prod(constant.shape) == 1:
            yield from (float(value) for value in constant.values() or ())


def _extreme(value: float, scales: bool) -> bool:
    """Whether a number is NaN, large, or as a factor or divisor close to 0."""
    return not abs(value) <= LARGE or (scales and abs(value) < 1 / LARGE)
