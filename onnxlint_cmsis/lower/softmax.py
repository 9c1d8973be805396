"""Softmax: rows of int8 or int16, and the one scale and zero-point that each function gives its output.

arm_softmax_s8 writes integers of scale 1/256 and zero-point -128 (arm_nn_softmax_common_s8.c), arm_softmax_s8_s16, of
int8 input and int16 output, 1/65536 and -32768 (the same file), arm_softmax_s16 1/32768 and 0 (arm_softmax_s16.c).
"""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, entry_parts
from onnxlint_cmsis.lower.activation_refusals import WIDENING, StoredNumbers
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import Shape, is_image
from onnxlint_cmsis.lower.joins import unweighted_layer
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import TOLERANCE, UNSIGNED_OFFSET, AffineQuantization
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.model.graph import Graph, Node


class SoftmaxOutput(NamedTuple):
    """What a function gives its output."""

    scale: float
    """Scale."""
    zero_point: int
    """Zero-point."""
    words: str
    """The scale as a fraction."""
    tolerance: float
    """Relative difference of scales that changes nothing.

    For int16 this is less than two units of the largest output. It accepts the 1/32767 of ONNX Runtime's quantizer.
    TensorFlow Lite Micro takes 0.1 % (softmax_common.cc:93, :99).
    """


SOFTMAX_OUTPUT = {
    "s8": SoftmaxOutput(1 / 256, -128, "1/256", TOLERANCE),
    "s8_s16": SoftmaxOutput(1 / 65536, -32768, "1/65536", 2.0**-15),
    "s16": SoftmaxOutput(1 / 32768, 0, "1/32768", 2.0**-14),
}
"""Types of input and output to the scale and zero-point of the output."""


SMALLEST_SOFTMAX_INPUT = 2.0**-26
"""Input scale up to which the multiplier of arm_softmax_s8, the scale times 2^26, does not exceed 1.

Its shift goes to the left alone (TensorFlow Lite, QuantizeMultiplierGreaterThanOne).
"""


FLATTENING_OPSET = 13
"""Before this opset, Softmax runs over its axis and all following ones."""


def lower_softmax(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower Softmax: `arm_softmax_*` runs over rows, which lie one after the other in memory."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    axes = set(softmax_axes(node, len(shape)))
    image = is_image(graph, node.inputs[0]) if len(shape) > 2 else False
    orders = [(0, *range(2, len(shape)), 1)] if image is not False else []
    orders += [tuple(range(len(shape)))] if not image else []
    if not any(_softmax_rows(shape, axes, order) for order in orders):
        stored = "as stored (NHWC)" if image else "in memory"
        kind, _ = activation_type(graph, node.inputs[0], assume)
        function = f"arm_softmax_{kind if assume.stays_float else 's8'}"
        text = f"it runs over axis {min(axes)}, which is not the last {stored}; {function} runs over rows"
        return in_reference_code(kind, Function.SOFTMAX, Cause.AXIS, text)
    return unweighted_layer(Function.SOFTMAX, graph, node, assume)


def softmax_axes(node: Node, rank: int) -> tuple[int, ...]:
    """Axes that a Softmax runs over: its axis; before opset 13, which QLinearSoftmax names, all following ones too."""
    flattening = node.int("opset", node.opset) < FLATTENING_OPSET
    axis = node.int("axis", 1 if flattening and "opset" not in node.attributes else -1) % max(rank, 1)
    return tuple(range(axis, rank)) if flattening else (axis,)


def _softmax_rows(shape: Shape, axes: set[int], order: tuple[int, ...]) -> bool:
    """Tell whether the axes can be last in memory. An axis of size 1 or unknown size may be anywhere."""
    inside = [axis in axes for axis in order if shape[axis] not in (1, None)]
    return inside == sorted(inside)


def widened(layer: Layer, numbers: StoredNumbers, result: AffineQuantization | None) -> Layer:
    """The layer; as a call of arm_softmax_s8_s16 if its input is int8 or uint8 and its output int16."""
    narrow = all(quantization is not None and quantization.bits == 8 for quantization in numbers)
    if layer.call.entry != Function.SOFTMAX.entry("s8") or not narrow or result is None or result.elem_type != "int16":
        return layer
    return layer._replace(call=layer.call._replace(entry=WIDENING[0]))


def check_softmax(entry: str, source: AffineQuantization | None, result: AffineQuantization) -> Decision | None:
    """Why the output of a softmax differs from the model's integers; None where it does not."""
    function, kind = entry_parts(entry)
    if kind != "s16" and source is not None and source.scale <= SMALLEST_SOFTMAX_INPUT:
        return no_kernel(Cause.SCALE, f"the scale of its input is at most 2^-26; arm_{entry} needs one above it")
    scale, zero_point, words, tolerance = SOFTMAX_OUTPUT[kind]
    if abs(result.scale - scale) < tolerance * scale and result.signed_zero_points == (zero_point,):
        return None
    has = f"scale {result.scale:.6g} and zero-point {result.signed_zero_points[0]}"
    return in_reference_code(kind, function, Cause.SOFTMAX_SCALE, f"its output has {has}, not {words} and {zero_point}")


def function_output(record: LoweredLayer) -> tuple[AffineQuantization, str] | None:
    """Scale and zero-point that a softmax function gives its output, in the type of the file, and the scale in words.

    None for outputs other than int8, uint8 and int16.
    """
    elem_type = record.output.elem_type if record.output else ""
    if record.layer is None or elem_type not in ("int8", "uint8", "int16"):
        return None
    fixed = SOFTMAX_OUTPUT[record.layer.call.types]
    zero = fixed.zero_point + (UNSIGNED_OFFSET if elem_type == "uint8" else 0)
    return AffineQuantization(elem_type, (fixed.scale,), (zero,)), fixed.words
