"""Operators on two activations, or on one and a constant: Add, Sub, Mul, Div, Max and Min."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import Shape, broadcast_dims, shape_text
from onnxlint_cmsis.lower.elementwise import NO_FUNCTION
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.reference_code import ARITHMETIC, in_reference_code
from onnxlint_cmsis.lower.stored_types import activation_type, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.searches import among_all
from onnxlint_cmsis.operators.answers import Elements

FUNCTIONS = {
    "Add": Function.ADD,
    "Sum": Function.ADD,
    "Mul": Function.MUL,
    "Max": Function.MAXIMUM,
    "Min": Function.MINIMUM,
}
"""Operator to its function."""


def lower_binary(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision | None:
    """Lower an operator on two activations, or on one and a constant that no layer in front takes in."""
    roles = operator_of(node).roles
    if len(node.inputs) <= roles.second:
        return None
    left, right = node.inputs[roles.first], node.inputs[roles.second]
    fixed = [computed_from_constants(graph, name) for name in (left, right)]
    kind, assumed = activation_type(graph, right if fixed[0] else left, assume)
    name = canonical(node)
    if roles.step == 1 and len(node.inputs) > 2:
        entry = FUNCTIONS[name].entry(kind)
        return no_kernel(Cause.ATTRIBUTE, f"it has {len(node.inputs)} operands; arm_{entry} takes two")
    shapes = graph.shape(left), graph.shape(right)
    computed = [shape for shape, constant in zip(shapes, fixed, strict=True) if not constant]
    if () in computed or not computed:
        return None  # a scalar computed at run time is a scale, not a layer's operand
    if any(fixed):
        other, constant = shapes[::-1] if fixed[0] else shapes
        decision = _with_constant(name, other, constant, kind)
    elif name not in FUNCTIONS:
        decision = no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    else:
        decision = _two_activations(FUNCTIONS[name], kind, *shapes)
    if decision is not None:
        return decision
    first, second, result = broadcast_dims(graph, left, right, node.outputs[0])
    return Layer(node, KernelCall(FUNCTIONS[name].entry(kind), first, second, result), {}, 1, assumed)


def computed_from_constants(graph: Graph, tensor: str) -> bool:
    """Tell whether an operand is the same in every run: a constant, moved, dequantized or computed from others."""

    def computes(name: str) -> Node | None:
        node = graph.producers.get(name)
        lost = node is None or not node.inputs or node.bodies or operator_of(node).elements is Elements.RANDOM
        return None if lost or weights_behind(graph, name) is not None else node

    def operands(name: str) -> list[str]:
        node = computes(name)
        return [operand for operand in node.inputs if operand] if node else []

    def told(name: str, behind: list[bool | None]) -> bool:
        return weights_behind(graph, name) is not None or (computes(name) is not None and all(behind))

    constant: bool = among_all(graph, "computed from constants", tensor, operands, told)
    return constant


def _with_constant(name: str, other: Shape | None, constant: Shape | None, kind: str) -> Decision | None:
    """Who computes an operator of which one operand is a constant; None for a function of CMSIS-NN."""
    if constant is None or other is None:
        return UNDECIDED
    single = all(size == 1 for size in constant)
    if name in ("Max", "Min"):
        return None  # arm_maximum_s8 and arm_minimum_s8 broadcast
    if single and name in ARITHMETIC and len(constant) <= len(other):
        text = "one operand is a constant that no layer in front takes in"
        return in_reference_code(kind, "lookup", Cause.OPERAND_CONSTANT, text)
    if name not in FUNCTIONS:
        text = f"its constant has several numbers; CMSIS-NN has no function for {name}"
        return no_kernel(Cause.OPERAND_CONSTANT, text)
    if len(constant) > len(other) or any(
        a not in (1, b) for a, b in zip(constant[::-1], other[::-1], strict=False) if b is not None
    ):
        text = f"the constant of shape {shape_text(constant)} makes its operand of shape {shape_text(other)} larger"
        return no_kernel(Cause.BROADCAST, text)
    text = "one operand is a constant of several numbers that no layer in front takes in"
    return in_reference_code(kind, FUNCTIONS[name], Cause.OPERAND_CONSTANT, text)


def _two_activations(function: Function, kind: str, first: Shape | None, second: Shape | None) -> Decision | None:
    """Why no function takes the two operands, or cannot be judged; None where one does."""
    if first is None or second is None:
        return UNDECIDED
    same = _same(first, second) if function in (Function.ADD, Function.MUL) else True
    if same is None:
        return UNDECIDED
    if same:
        return None
    have = f"its operands have shapes {shape_text(first)} and {shape_text(second)}"
    return in_reference_code(kind, function, Cause.BROADCAST, f"{have}; arm_{function.entry(kind)} does not broadcast")


def without_shapes(decision: Decision) -> str:
    """The reason of a decision, in words that hold for operands of any shapes."""
    if (decision.verdict, decision.cause) != (Outcome.REFERENCE, Cause.BROADCAST):
        return decision.reason
    return f"its operands have different shapes;{decision.reason.partition(';')[2]}"


def _same(first: Shape, second: Shape) -> bool | None:
    """Tell whether two shapes hold the same elements one by one; None where a symbolic size leaves it open."""
    rank = max(len(first), len(second))
    pairs = list(zip(*((1,) * (rank - len(shape)) + shape for shape in (first, second)), strict=True))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return False
    return None if any(a != b for a, b in pairs) else True
