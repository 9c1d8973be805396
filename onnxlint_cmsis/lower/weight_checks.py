"""Checks of a quantized layer's weights and their scales against its function.

`cmsis_nn_conv_params`, `cmsis_nn_dw_conv_params` and `cmsis_nn_transpose_conv_params` have an input and an output
offset and none for the filter; `cmsis_nn_fc_params` has a `filter_offset`, one for all outputs
(Include/arm_nn_types.h).
"""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.activation_checks import Numbers
from onnxlint_cmsis.lower.affine_quantization import OUTPUT, AffineQuantization, wrong_scale
from onnxlint_cmsis.lower.epilogue import WEIGHTED, Epilogue, along_channels
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.quantization import of_weights
from onnxlint_cmsis.lower.stored_types import weights_behind
from onnxlint_cmsis.lower.verdict import Cause, Decision, refused

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
    if not layer.call.entry.startswith(WEIGHTED):
        return None
    return of_weights(graph, layer.node, operands(layer.node.domain, layer.node.op_type).weights)


def check_weights(
    graph: Graph, layer: Layer, numbers: Numbers, weights: AffineQuantization | None, ending: Epilogue
) -> Decision | None:
    """Why a layer's weights or their scales do not fit its function; None where they do."""
    position = operands(layer.node.domain, layer.node.op_type).weights
    if weights is None:
        return refused(Cause.WEIGHT_TYPE, "its weights are not quantized")
    wrong = wrong_scale(weights)
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
        (wrong is not None, Cause.SCALE, f"a scale of its quantization is {wrong}; scales are finite and above 0"),
    )  # fmt: skip
    return (
        next((refused(cause, text) for met, cause, text in facts if met), None)
        or _zero_points(layer.call.entry, weights)
        or _scales(layer, weights)
        or _bias(graph, layer, ending)
        or _multiplier(numbers, weights, ending)
    )


def _zero_points(entry: str, weights: AffineQuantization) -> Decision | None:
    """Convolutions have no filter offset; fully connected s8 functions have one for all outputs, s16 and s4 none."""
    zeros = set(weights.signed_zero_points)
    if not any(zeros):
        return None
    if not entry.startswith("fully_connected"):
        text = "its weights have a zero-point other than 0; CMSIS-NN's convolutions take 0"
        return refused(Cause.WEIGHT_ZERO_POINT, text)
    kind = entry.rpartition("_")[2]
    if kind != "s8":
        text = f"its weights have a zero-point other than 0; arm_fully_connected_{kind} takes 0"
        return refused(Cause.WEIGHT_ZERO_POINT, text)
    if len(zeros) > 1:
        return refused(
            Cause.WEIGHT_ZERO_POINT, "its weights have several zero-points; arm_fully_connected_s8 takes one"
        )
    return None


def _scales(layer: Layer, weights: AffineQuantization) -> Decision | None:
    """Check for one scale, or one per output channel, which for fully connected layers s8 alone has."""
    if weights.blocks:
        text = "its weights are quantized in blocks; CMSIS-NN has one scale for each output channel"
        return refused(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) == 1:
        return None
    node, entry = layer.node, layer.call.entry
    dense = entry.startswith("fully_connected")
    axis = (0 if node.int("transB") else 1) if dense else int(entry.startswith("transpose_conv"))
    if weights.axis != OUTPUT and weights.axis % 2 != axis if dense else weights.axis not in (OUTPUT, axis):
        text = "its weights have scales along another axis than that of the output channels"
        return refused(Cause.WEIGHT_SCALES, text)
    if len(weights.scales or ()) != layer.call.output_dims.c and layer.call.output_dims.c is not None:
        return refused(Cause.WEIGHT_SCALES, "its weights do not have one scale for each output channel")
    kind = entry.rpartition("_")[2]
    if dense and kind != "s8":
        text = f"its weights have a scale for each output; arm_fully_connected_{kind} takes one"
        return in_plain_code(kind, "fully_connected", Cause.WEIGHT_SCALES, text)
    return None


def _bias(graph: Graph, layer: Layer, ending: Epilogue) -> Decision | None:
    """The bias is fixed in the file; a constant added behind has one number for each channel."""
    node, bias = layer.node, operands(layer.node.domain, layer.node.op_type).bias
    if 0 <= bias < len(node.inputs) and node.inputs[bias] and weights_behind(graph, node.inputs[bias]) is None:
        return refused(Cause.OPERAND_COMPUTED, "its bias is computed at run time")
    if ending.added is None:
        return None
    name = next(name for name in ending.added.inputs if weights_behind(graph, name) is not None)
    dense = layer.call.entry.startswith("fully_connected")
    rank = len(graph.shape(node.outputs[0]) or ())
    if along_channels(graph.shape(name), -1 if dense else 1 - rank, layer.call.output_dims.c):
        return None
    text = "a constant that is not one number for each channel is added before its result is quantized"
    return refused(Cause.OPERAND_CONSTANT, text)


def _multiplier(numbers: Numbers, weights: AffineQuantization, ending: Epilogue) -> Decision | None:
    source = numbers[0].scale if numbers and numbers[0] is not None else 0.0
    result = ending.quantization.scale if ending.quantization else 1.0
    if source * max(weights.scales or (0.0,)) / result < MOST_MULTIPLIER:
        return None
    return refused(Cause.SCALE, "its scales make a multiplier of 2^30 or more")
