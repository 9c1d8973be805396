"""Checks of a function's result against the quantization of the model.

`cmsis_nn_pool_params` has no scales: integers go in and out as they are, as in arm_concatenation_s8_[wxyz], arm_pad_s8,
arm_transpose_s8, arm_maximum_s8 and arm_minimum_s8.
"""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.lower.activation_checks import Numbers
from onnxlint_cmsis.lower.epilogue import CLAMPING, Epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.softmax import check_softmax
from onnxlint_cmsis.lower.verdict import Cause, Decision, refused
from onnxlint_cmsis.types import entry_parts

UNEQUAL = "its input and output have different scales or zero-points"
SAME_SCALE = ("avgpool", "max_pool", "concatenation", "pad", "transpose", "maximum", "minimum")
"""Stems whose functions leave integers as they are."""


def check_result(layer: Layer, numbers: Numbers, ending: Epilogue) -> Decision | None:
    """Why a function's result differs from the model's integers; None where it does not."""
    stem, kind = entry_parts(layer.call.entry)
    result = ending.quantization
    if result is None:
        return None
    if stem in SAME_SCALE and not all(each is not None and each.equals(result) for each in numbers):
        return in_plain_code(kind, stem, Cause.UNEQUAL_SCALES, UNEQUAL)
    if stem == "softmax" and (found := check_softmax(layer.call.entry, numbers[0], result)) is not None:
        return found
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
