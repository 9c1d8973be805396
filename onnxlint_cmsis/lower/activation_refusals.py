"""Whether the activations of a quantized node are of types and zero-points that CMSIS-NN takes.

The s16 functions read no offset of int16 activations (arm_convolve_s16.c, arm_fully_connected_s16.c).
"""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.binary import computed_from_constants
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.operands import activations_of, parameters_of
from onnxlint_cmsis.lower.quantization import AffineQuantization, strange_numbers
from onnxlint_cmsis.lower.reference_code import ARITHMETIC
from onnxlint_cmsis.lower.stored_types import STORED, dequantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Sums
from onnxlint_cmsis.operators.answers import Elements

ACTIVATION_TYPES = ("int8", "uint8", "int16")
"""Types of activations; uint8 becomes int8 exactly where 128 is taken off integers and zero-point alike."""


STORED_VALUES = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
"""Operators whose s16 functions work on stored integers, whatever their zero-point (arm_max_pool_s16.c)."""


WIDENING = (Function.SOFTMAX.entry("s8_s16"),)
"""Entry points of int8 input and int16 output; their output has a zero-point, which the function gives it."""


StoredNumbers = tuple[AffineQuantization | None, ...]
"""Quantization of a node's activations, in the order of its inputs; None for one that is float."""


def numbers_of(graph: Graph, node: Node, weighted: bool) -> StoredNumbers:
    """Quantization of a node's activations; weights and constant operands of sums and products are left out."""
    roles = operator_of(node).roles
    positions = [position for position in activations_of(node) if node.inputs[position]]
    if weighted:
        positions = [position for position in positions if position != roles.second]
    if canonical(node) not in ("Max", "Min"):
        positions = [
            position for position in positions if not computed_from_constants(graph, node.inputs[position])
        ] or positions
    return tuple(of_input(graph, node, position) for position in positions)


def check_activations(
    graph: Graph, node: Node, numbers: StoredNumbers, result: AffineQuantization | None, entry: str = ""
) -> Decision | None:
    """Why integers of these types and zero-points are no activations of CMSIS-NN; None where they are.

    `entry` is the entry point of the layer's call, if it has one.
    """
    known = [quantization for quantization in (*numbers, result) if quantization is not None]
    wrong = strange_numbers(known)
    strange = sorted({quantization.elem_type for quantization in known} - set(ACTIVATION_TYPES))
    widening = entry in WIDENING
    roles = operator_of(node).roles
    unscaled = roles.sums is not None and bool(roles.quantized) and parameters_of(node, -1) is None
    facts = (
        (_is_dynamic(graph, node), Cause.DYNAMIC_QUANTIZATION, "the scale of its input is known only at run time"),
        (unscaled, Cause.FLOAT_RESULT, "it gives out sums; no scale for its output is fixed"),
        (None in numbers, Cause.FLOAT, "its input is not quantized"),
        (
            not all(quantization.known for quantization in known),
            Cause.DYNAMIC_QUANTIZATION, "a scale of its activations is known only at run time",
        ),
        (
            any(len(quantization.scales or (0,)) != 1 for quantization in known),
            Cause.SCALE, "several scales quantize an activation; CMSIS-NN's functions take one",
        ),
        (bool(wrong), Cause.SCALE, wrong),
        (
            bool(strange),
            Cause.ACTIVATION_TYPE,
            f"its activations are {''.join(strange[:1]) or 'of unknown type'}; CMSIS-NN takes int8 and int16",
        ),
        (
            not widening and len({quantization.bits for quantization in known}) > 1,
            Cause.ACTIVATION_TYPE, "it has int8 and int16 activations; CMSIS-NN's functions have one type",
        ),
        (
            not widening and canonical(node) not in STORED_VALUES
            and any(quantization.bits == 16 and any(quantization.zero_points or ()) for quantization in known),
            Cause.ZERO_POINT_S16, "its int16 activations have a zero-point; CMSIS-NN's s16 functions take 0",
        ),
    )  # fmt: skip
    return next((no_kernel(cause, text) for met, cause, text in facts if met), None)


def check_operand(graph: Graph, node: Node) -> Decision | None:
    """Why reference code does not take a constant operand of several numbers; None where it does."""
    roles = operator_of(node).roles
    if canonical(node) not in ARITHMETIC or len(node.inputs) <= roles.second:
        return None
    for position in (roles.first, roles.second):
        several = any(size != 1 for size in graph.shape(node.inputs[position]) or ())
        if (
            several
            and computed_from_constants(graph, node.inputs[position])
            and of_input(graph, node, position) is None
        ):
            return no_kernel(Cause.OPERAND_CONSTANT, "one operand is a float constant that is not quantized")
    return None


def _is_dynamic(graph: Graph, node: Node) -> bool:
    """Tell whether DynamicQuantizeLinear, seen through what only moves integers, makes an input."""
    tensor, roles = node.inputs[0], operator_of(node).roles
    if roles.sums is Sums.SCALED and parameters_of(node, roles.first) is None:  # it measures its input itself
        return True
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(tensor)
        if producer is None or not producer.inputs:
            return False
        if operator_of(producer).elements is Elements.MEASURED:
            return True
        if graph.elem_type(tensor) not in STORED and not dequantizes(producer):
            return False
        tensor = producer.inputs[0]
    return False
