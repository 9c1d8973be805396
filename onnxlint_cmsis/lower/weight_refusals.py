"""Checks of a quantized layer's weights and their scales against its function.

`cmsis_nn_conv_params`, `cmsis_nn_dw_conv_params` and `cmsis_nn_transpose_conv_params` have an input and an output
offset and none for the filter; `cmsis_nn_fc_params` has a `filter_offset`, one for all outputs
(Include/arm_nn_types.h).
"""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import WEIGHTED, Function, KernelCall
from onnxlint_cmsis.lower.activation_refusals import StoredNumbers
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.epilogue import Epilogue, along_channels
from onnxlint_cmsis.lower.find_quantization import of_weights
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.quantization import OUTPUT, AffineQuantization, strange_numbers
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.model.graph import Graph

WEIGHT_TYPES = ("int8", "uint8", "int4")
"""Types of weights; uint8 becomes int8 as activations do."""


MOST_MULTIPLIER = 2.0**30
"""Smallest multiplier that is too large for TensorFlow Lite (QuantizeMultiplier)."""


LEAST_MULTIPLIER = 2.0**-32
"""Multiplier below which TensorFlow Lite takes 0 (QuantizeMultiplier)."""


def vanished(record: LoweredLayer) -> tuple[int, int]:
    """How many of a layer's multipliers count as 0, and how many there are; 0 of 0 where they are not known."""
    source = record.inputs[0] if record.inputs else None
    if record.call is None or record.weights is None or source is None or record.output is None:
        return 0, 0
    unit, step = source.scale, record.output.scale
    scales = record.weights.scales or ()
    if not scales or unit * min(scales) / step >= LEAST_MULTIPLIER:
        return 0, len(scales)
    return sum(unit * scale / step < LEAST_MULTIPLIER for scale in scales), len(scales)


def weights_of(graph: Graph, layer: Layer) -> AffineQuantization | None:
    """Quantization of a layer's weights; None where it has none or they are float."""
    if layer.call.function not in WEIGHTED:
        return None
    return of_weights(graph, layer.node, operator_of(layer.node).roles.second)


def check_weights(
    graph: Graph, layer: Layer, numbers: StoredNumbers, weights: AffineQuantization | None, ending: Epilogue
) -> Decision | None:
    """Why a layer's weights or their scales do not fit its function; None where they do."""
    position = operator_of(layer.node).roles.second
    if weights is None:
        return no_kernel(Cause.WEIGHT_TYPE, "its weights are not quantized")
    wrong = strange_numbers((weights,))
    facts = (
        (
            weights_behind(graph, layer.node.inputs[position]) is None,
            Cause.OPERAND_COMPUTED, "its weights are computed at run time",
        ),
        (not weights.known, Cause.DYNAMIC_QUANTIZATION, "the scale of its weights is known only at run time"),
        (
            weights.elem_type not in WEIGHT_TYPES,
            Cause.WEIGHT_TYPE, f"its weights are {weights.elem_type}; CMSIS-NN takes int8 and int4",
        ),
        (bool(wrong), Cause.SCALE, wrong),
    )  # fmt: skip
    return (
        next((no_kernel(cause, text) for met, cause, text in facts if met), None)
        or _zero_point_refusal(layer.call, weights)
        or _scale_refusal(layer, weights)
        or _bias_refusal(graph, layer, ending)
        or _multiplier_refusal(numbers, weights, ending)
    )


def _zero_point_refusal(call: KernelCall, weights: AffineQuantization) -> Decision | None:
    """Convolutions have no filter offset; fully connected s8 functions have one for all outputs, s16 and s4 none."""
    zeros = set(weights.signed_zero_points)
    if not any(zeros):
        return None
    if call.function is not Function.FULLY_CONNECTED:
        text = "its weights have a zero-point other than 0; CMSIS-NN's convolutions take 0"
        return no_kernel(Cause.WEIGHT_ZERO_POINT, text)
    if call.types != "s8":
        text = f"its weights have a zero-point other than 0; arm_{call.entry} takes 0"
        return no_kernel(Cause.WEIGHT_ZERO_POINT, text)
    if len(zeros) > 1:
        return no_kernel(
            Cause.WEIGHT_ZERO_POINT, "its weights have several zero-points; arm_fully_connected_s8 takes one"
        )
    return None


def _scale_refusal(layer: Layer, weights: AffineQuantization) -> Decision | None:
    """Check for one scale, or one per output channel, which for fully connected layers s8 alone has."""
    if weights.blocks:
        text = "its weights are quantized in blocks; CMSIS-NN has one scale for each output channel"
        return no_kernel(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) == 1:
        return None
    node, call = layer.node, layer.call
    dense = call.function is Function.FULLY_CONNECTED
    axis = (0 if node.int("transB") else 1) if dense else int(call.function is Function.TRANSPOSE_CONV)
    if weights.axis != OUTPUT and weights.axis % 2 != axis if dense else weights.axis not in (OUTPUT, axis):
        text = "its weights have scales along another axis than that of the output channels"
        return no_kernel(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) != call.output_dims.c and call.output_dims.c is not None:
        return no_kernel(Cause.WEIGHT_SCALES, "its weights do not have one scale for each output channel")
    if dense and call.types != "s8":
        text = f"its weights have a scale for each output; arm_{call.entry} takes one"
        return in_reference_code(call.types, Function.FULLY_CONNECTED, Cause.WEIGHT_SCALES, text)
    return None


def _bias_refusal(graph: Graph, layer: Layer, ending: Epilogue) -> Decision | None:
    """The bias is fixed in the file; a constant added behind has one number for each channel."""
    node, bias = layer.node, operator_of(layer.node).roles.bias
    if node.has(bias) and weights_behind(graph, node.inputs[bias]) is None:
        return no_kernel(Cause.OPERAND_COMPUTED, "its bias is computed at run time")
    if ending.added is None:
        return None
    name = next(name for name in ending.added.inputs if weights_behind(graph, name) is not None)
    dense = layer.call.function is Function.FULLY_CONNECTED
    rank = len(graph.shape(node.outputs[0]) or ())
    if along_channels(graph.shape(name), -1 if dense else 1 - rank, layer.call.output_dims.c):
        return None
    text = "a constant that is not one number for each channel is added before its result is quantized"
    return no_kernel(Cause.OPERAND_CONSTANT, text)


def _multiplier_refusal(numbers: StoredNumbers, weights: AffineQuantization, ending: Epilogue) -> Decision | None:
    source = numbers[0].scale if numbers and numbers[0] is not None else 0.0
    result = ending.quantization.scale if ending.quantization else 1.0
    if source * max(weights.scales or (0.0,)) / result < MOST_MULTIPLIER:
        return None
    return no_kernel(Cause.SCALE, "its scales make a multiplier of 2^30 or more")
