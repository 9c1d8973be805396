"""Add, Mul, Max and Min of activations."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import UNDECIDED, Layer
from onnxlint_cmsis.lower.layout import Shape, dims_of, text
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import activation_type, weights_behind
from onnxlint_cmsis.types import KernelCall

FUNCTIONS = {
    "Add": "elementwise_add",
    "Sum": "elementwise_add",
    "QLinearAdd": "elementwise_add",
    "Mul": "elementwise_mul",
    "QLinearMul": "elementwise_mul",
    "Max": "maximum",
    "Min": "minimum",
}
"""Operator to the stem of its entry point."""
VARIADIC = ("Max", "Min", "Sum")
"""Operators of any number of operands."""


def lower_elementwise(graph: Graph, node: Node, assume: Assumptions) -> Layer | str | None:
    """Lower an operator on two activations; a constant operand is a bias, scale or clip and makes no layer."""
    where = operands(node.domain, node.op_type)
    if len(node.inputs) <= where.weights:
        return None
    left, right = node.inputs[where.activation], node.inputs[where.weights]
    kind, assumed = activation_type(graph, left, assume)
    entry = f"{FUNCTIONS[node.op_type]}_{kind}"
    if node.op_type in VARIADIC and len(node.inputs) > 2:
        return f"it has {len(node.inputs)} operands; arm_{entry} takes two"
    if weights_behind(graph, left) is not None or weights_behind(graph, right) is not None:
        return None
    shapes = graph.shape(left), graph.shape(right)
    if () in shapes:
        return None  # a scalar is a scale, not a layer's operand
    refused = _refused(entry, *shapes)
    if refused:
        return refused
    first, second, result = dims_of(graph, left, right, node.outputs[0])
    return Layer(node, KernelCall(entry, first, second, result), {}, 1, assumed)


def _refused(entry: str, first: Shape | None, second: Shape | None) -> str:
    """Why the operands do not go together, or cannot be judged; empty where they do."""
    if first is None or second is None:
        return UNDECIDED
    same = _same(first, second) if entry.startswith("elementwise") else True
    if same is None:
        return UNDECIDED
    return "" if same else f"its operands have shapes {text(first)} and {text(second)}; arm_{entry} does not broadcast"


def _same(first: Shape, second: Shape) -> bool | None:
    """Whether two shapes hold the same elements one by one; None where a symbolic size leaves it open."""
    rank = max(len(first), len(second))
    pairs = list(zip(*((1,) * (rank - len(shape)) + shape for shape in (first, second)), strict=True))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return False
    return None if any(a != b for a, b in pairs) else True
