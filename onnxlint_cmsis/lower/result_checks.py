"""Checks of a function's result against the quantization of the model.

`cmsis_nn_pool_params` has no scales: integers go in and out as they are, as in arm_concatenation_s8_[wxyz], arm_pad_s8,
arm_transpose_s8, arm_maximum_s8 and arm_minimum_s8. arm_softmax_s8 gives its output scale 1/256 and zero-point -128
(arm_nn_softmax_common_s8.c), arm_softmax_s16 1/32768 and 0 (arm_softmax_s16.c).
"""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.lower.activation_checks import Numbers
from onnxlint_cmsis.lower.affine_quantization import TOLERANCE
from onnxlint_cmsis.lower.epilogue import CLAMPING, Epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.verdict import Cause, Decision, refused

SOFTMAX_OUTPUT = {"s8": (1 / 256, -128, "1/256 and -128"), "s16": (1 / 32768, 0, "1/32768 and 0")}
"""Scale and zero-point of the output of CMSIS-NN's softmax, and both in words."""
SOFTMAX_TOLERANCE = {"s8": TOLERANCE, "s16": 2.0**-14}
"""Relative difference from that scale which changes nothing. For int16 it is less than two units of the largest output,
as with the 1/32767 of ONNX Runtime's quantizer; TensorFlow Lite Micro takes 0.1 % (softmax_common.cc:93)."""
SMALLEST_SOFTMAX_INPUT = 2.0**-26
"""Input scale up to which the multiplier of arm_softmax_s8, the scale times 2^26, does not exceed 1.

Its shift goes to the left alone (TensorFlow Lite, QuantizeMultiplierGreaterThanOne).
"""
UNEQUAL = "its input and output have different scales or zero-points"
SAME_SCALE = ("avgpool", "max_pool", "concatenation", "pad", "transpose", "maximum", "minimum")
"""Stems whose functions leave integers as they are."""


def check_result(layer: Layer, numbers: Numbers, ending: Epilogue) -> Decision | None:
    """Why a function's result differs from the model's integers; None where it does not."""
    stem, _, kind = layer.call.entry.rpartition("_")
    result = ending.quantization
    if result is None:
        return None
    if stem in SAME_SCALE and not all(each is not None and each.equals(result) for each in numbers):
        return in_plain_code(kind, stem, Cause.UNEQUAL_SCALES, UNEQUAL)
    if stem == "softmax" and kind == "s8" and numbers[0] is not None and numbers[0].scale <= SMALLEST_SOFTMAX_INPUT:
        return refused(Cause.SCALE, "the scale of its input is at most 2^-26; arm_softmax_s8 needs one above it")
    if stem == "softmax":
        scale, zero_point, words = SOFTMAX_OUTPUT[kind]
        if abs(result.scale - scale) >= SOFTMAX_TOLERANCE[kind] * scale or result.signed_zero_points != (zero_point,):
            text = f"its output has scale {result.scale:.6g} and zero-point {result.signed_zero_points[0]}, not {words}"
            return in_plain_code(kind, stem, Cause.SOFTMAX_SCALE, text)
    if ending.clamps and stem not in CLAMPING:
        text = f"a clamp follows before its result is quantized; arm_{stem}_{kind} has none"
        clamps = stem == "concatenation"  # the plain code of a concatenation clamps, that of others does not
        return in_plain_code(kind, stem, Cause.CLAMP_SCALE, text) if clamps else refused(Cause.CLAMP_SCALE, text)
    return None


def check_copy(node: Node, numbers: Numbers, ending: Epilogue) -> Decision | None:
    """Why a plain copy of elements is not a node's result; None where it is."""
    same = all(each is not None and ending.quantization and each.equals(ending.quantization) for each in numbers)
    if not node.is_op("Slice", "Resize", "Upsample") or (same and not ending.clamps):
        return None
    return refused(Cause.UNEQUAL_SCALES, "its input and output have different scales or bounds; plain code copies")
