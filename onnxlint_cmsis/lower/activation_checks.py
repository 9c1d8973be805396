"""Whether the activations of a quantized node are of types and zero-points that CMSIS-NN takes.

The s16 functions read no offset of int16 activations (arm_convolve_s16.c, arm_fully_connected_s16.c).
"""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.affine_quantization import AffineQuantization, wrong_scale
from onnxlint_cmsis.lower.binary import computed_from_constants
from onnxlint_cmsis.lower.operands import activations_of, operands
from onnxlint_cmsis.lower.plain_code import ARITHMETIC
from onnxlint_cmsis.lower.quantization import of_input
from onnxlint_cmsis.lower.stored_types import STORED, dequantizes
from onnxlint_cmsis.lower.verdict import Cause, Decision, refused
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.operators.registry import operator_of

ACTIVATION_TYPES = ("int8", "uint8", "int16")
"""Types of activations; uint8 becomes int8 exactly where 128 is taken off integers and zero-point alike."""
STORED_VALUES = ("MaxPool", "AveragePool", "GlobalAveragePool")
"""Operators whose s16 functions work on stored integers, whatever their zero-point (arm_max_pool_s16.c)."""
WIDENING = ("softmax_s8_s16",)
"""Entry points of int8 input and int16 output; their output has a zero-point, which the function gives it."""
_INTEGER_SUMS = ("ConvInteger", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")

Numbers = tuple[AffineQuantization | None, ...]
"""Quantization of a node's activations, in the order of its inputs; None for one that is float."""


def numbers_of(graph: Graph, node: Node, weighted: bool) -> Numbers:
    """Quantization of a node's activations; weights and constant operands of sums and products are left out."""
    where = operands(node.domain, node.op_type)
    places = [place for place in activations_of(node) if node.inputs[place]]
    if weighted:
        places = [place for place in places if place != where.weights]
    if not node.is_op("Max", "Min"):
        places = [place for place in places if not computed_from_constants(graph, node.inputs[place])] or places
    return tuple(of_input(graph, node, place) for place in places)


def check_activations(
    graph: Graph, node: Node, numbers: Numbers, result: AffineQuantization | None, entry: str = ""
) -> Decision | None:
    """Why integers of these types and zero-points are no activations of CMSIS-NN; None where they are.

    `entry` is the entry point of the layer's call, if it has one.
    """
    known = [each for each in (*numbers, result) if each is not None]
    wrong = next((scale for scale in map(wrong_scale, known) if scale is not None), None)
    facts = (
        (_is_dynamic(graph, node), Cause.DYNAMIC_QUANTIZATION, "the scale of its input is known only at run time"),
        (node.op_type in _INTEGER_SUMS, Cause.FLOAT_RESULT, "it gives out sums; no scale for its output is fixed"),
        (None in numbers, Cause.FLOAT, "its input is not quantized"),
        (
            not all(each.known for each in known),
            Cause.DYNAMIC_QUANTIZATION, "a scale of its activations is known only at run time",
        ),
        (
            any(len(each.scales or (0,)) != 1 for each in known),
            Cause.SCALE, "several scales quantize an activation; CMSIS-NN's functions take one",
        ),
        (wrong is not None, Cause.SCALE, f"a scale of its quantization is {wrong}; scales are finite and above 0"),
    )  # fmt: skip
    found = next((refused(cause, text) for met, cause, text in facts if met), None) or _unknown_type(known)
    if found or entry in WIDENING:
        return found
    return _several_types(known) or (None if node.is_op(*STORED_VALUES) else _offsets(known))


def _unknown_type(known: list[AffineQuantization]) -> Decision | None:
    for elem_type in sorted({each.elem_type for each in known} - set(ACTIVATION_TYPES)):
        text = f"its activations are {elem_type or 'of unknown type'}; CMSIS-NN takes int8 and int16"
        return refused(Cause.ACTIVATION_TYPE, text)
    return None


def _several_types(known: list[AffineQuantization]) -> Decision | None:
    if len({each.bits for each in known}) > 1:
        return refused(Cause.ACTIVATION_TYPE, "it has int8 and int16 activations; CMSIS-NN's functions have one type")
    return None


def _offsets(known: list[AffineQuantization]) -> Decision | None:
    if any(each.bits == 16 and any(each.zero_points or ()) for each in known):
        return refused(Cause.ZERO_POINT_S16, "its int16 activations have a zero-point; CMSIS-NN's s16 functions take 0")
    return None


def check_operand(graph: Graph, node: Node) -> Decision | None:
    """Why plain code does not take a constant operand of several numbers; None where it does."""
    where = operands(node.domain, node.op_type)
    if node.op_type.removeprefix("QLinear") not in ARITHMETIC or len(node.inputs) <= where.weights:
        return None
    for place in (where.activation, where.weights):
        several = any(size != 1 for size in graph.shape(node.inputs[place]) or ())
        if several and computed_from_constants(graph, node.inputs[place]) and of_input(graph, node, place) is None:
            return refused(Cause.OPERAND_CONSTANT, "one operand is a float constant that is not quantized")
    return None


def _is_dynamic(graph: Graph, node: Node) -> bool:
    """Whether DynamicQuantizeLinear, seen through what only moves integers, makes an input."""
    tensor = node.inputs[0]
    if node.op_type == "DynamicQuantizeMatMul":
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
