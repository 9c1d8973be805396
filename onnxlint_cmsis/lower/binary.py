"""Operators on two activations, or on one and a constant: Add, Sub, Mul, Div, Max and Min."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.layout import Shape, broadcast_dims
from onnxlint_cmsis.lower.layout import text as _text
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.plain_code import ARITHMETIC, in_plain_code
from onnxlint_cmsis.lower.stored_types import activation_type, weights_behind
from onnxlint_cmsis.lower.verdict import UNDECIDED, Cause, Decision, refused
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
NO_FUNCTION = "CMSIS-NN has no function for it"
_REACH = 8
"""How many nodes an operand may be away from the constants that it is computed from."""


def lower_binary(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision | None:
    """Lower an operator on two activations, or on one and a constant that no layer in front takes in."""
    where = operands(node.domain, node.op_type)
    if len(node.inputs) <= where.weights:
        return None
    left, right = node.inputs[where.activation], node.inputs[where.weights]
    fixed = [computed_from_constants(graph, name) for name in (left, right)]
    kind, assumed = activation_type(graph, right if fixed[0] else left, assume)
    if node.op_type in VARIADIC and len(node.inputs) > 2:
        entry = f"{FUNCTIONS[node.op_type]}_{kind}"
        return refused(Cause.ATTRIBUTE, f"it has {len(node.inputs)} operands; arm_{entry} takes two")
    shapes = graph.shape(left), graph.shape(right)
    computed = [shape for shape, constant in zip(shapes, fixed, strict=True) if not constant]
    if () in computed or not computed:
        return None  # a scalar computed at run time is a scale, not a layer's operand
    if any(fixed):
        other, constant = shapes[::-1] if fixed[0] else shapes
        decision = _with_constant(node, other, constant, kind)
    elif node.op_type not in FUNCTIONS:
        decision = refused(Cause.NO_FUNCTION, NO_FUNCTION)
    else:
        decision = _two_activations(f"{FUNCTIONS[node.op_type]}_{kind}", *shapes)
    if decision is not None:
        return decision
    first, second, result = broadcast_dims(graph, left, right, node.outputs[0])
    return Layer(node, KernelCall(f"{FUNCTIONS[node.op_type]}_{kind}", first, second, result), {}, 1, assumed)


def computed_from_constants(graph: Graph, tensor: str, reach: int = _REACH) -> bool:
    """Whether an operand is the same in every run: a constant, moved, dequantized or computed from others."""
    if weights_behind(graph, tensor) is not None:
        return True
    node = graph.producers.get(tensor)
    if node is None or reach == 0 or not node.inputs or node.bodies or node.op_type.startswith("Random"):
        return False
    return all(not name or computed_from_constants(graph, name, reach - 1) for name in node.inputs)


def _with_constant(node: Node, other: Shape | None, constant: Shape | None, kind: str) -> Decision | None:
    """Who computes an operator of which one operand is a constant; None for a function of CMSIS-NN."""
    if constant is None or other is None:
        return UNDECIDED
    one = all(size == 1 for size in constant)
    name = node.op_type.removeprefix("QLinear")
    if name in ("Max", "Min"):
        return None  # arm_maximum_s8 and arm_minimum_s8 broadcast
    if one and name in ARITHMETIC and len(constant) <= len(other):
        text = "one operand is a constant that no layer in front takes in"
        return in_plain_code(kind, "lookup", Cause.OPERAND_CONSTANT, text)
    if name not in FUNCTIONS:
        return refused(Cause.OPERAND_CONSTANT, f"its constant has several numbers; CMSIS-NN has no function for {name}")
    if len(constant) > len(other) or any(
        a not in (1, b) for a, b in zip(constant[::-1], other[::-1], strict=False) if b is not None
    ):
        text = f"the constant of shape {_text(constant)} makes its operand of shape {_text(other)} larger"
        return refused(Cause.BROADCAST, text)
    text = "one operand is a constant of several numbers that no layer in front takes in"
    return in_plain_code(kind, FUNCTIONS[name], Cause.OPERAND_CONSTANT, text)


def _two_activations(entry: str, first: Shape | None, second: Shape | None) -> Decision | None:
    """Why no function takes the two operands, or cannot be judged; None where one does."""
    if first is None or second is None:
        return UNDECIDED
    same = _same(first, second) if entry.startswith("elementwise") else True
    if same is None:
        return UNDECIDED
    if same:
        return None
    stem, _, kind = entry.rpartition("_")
    reason = f"its operands have shapes {_text(first)} and {_text(second)}; arm_{entry} does not broadcast"
    return in_plain_code(kind, stem, Cause.BROADCAST, reason)


def _same(first: Shape, second: Shape) -> bool | None:
    """Whether two shapes hold the same elements one by one; None where a symbolic size leaves it open."""
    rank = max(len(first), len(second))
    pairs = list(zip(*((1,) * (rank - len(shape)) + shape for shape in (first, second)), strict=True))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return False
    return None if any(a != b for a, b in pairs) else True
