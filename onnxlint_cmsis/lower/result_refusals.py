"""Checks of a function's result against the quantization of the model.

`cmsis_nn_pool_params` has no scales: integers go in and out as they are, as in arm_concatenation_s8_[wxyz],
arm_pad_s8, arm_transpose_s8, arm_maximum_s8 and arm_minimum_s8.
"""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.activation_refusals import StoredNumbers
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.epilogue import CLAMPING, Epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.softmax import check_softmax
from onnxlint_cmsis.model.graph import Node

UNEQUAL = "its input and output have different scales or zero-points"


SAME_SCALE = (
    *(Function.AVERAGE_POOL, Function.MAX_POOL, Function.CONCATENATION, Function.PAD, Function.TRANSPOSE),
    *(Function.MAXIMUM, Function.MINIMUM),
)
"""Functions that leave integers as they are."""


def check_result(layer: Layer, numbers: StoredNumbers, ending: Epilogue) -> Decision | None:
    """Why a function's result differs from the model's integers; None where it does not."""
    function, kind = layer.call.function, layer.call.types
    result = ending.quantization
    if result is None:
        return None
    if function in SAME_SCALE and not all(
        quantization is not None and quantization.equals(result) for quantization in numbers
    ):
        return in_reference_code(kind, function, Cause.UNEQUAL_SCALES, UNEQUAL)
    if function is Function.SOFTMAX and (refusal := check_softmax(layer.call.entry, numbers[0], result)) is not None:
        return refusal
    if ending.clamps and function not in CLAMPING:
        text = f"a clamp follows before its result is quantized; arm_{layer.call.entry} has none"
        clamps = function is Function.CONCATENATION  # that of a concatenation clamps, that of others does not
        return (
            in_reference_code(kind, function, Cause.CLAMP_SCALE, text) if clamps else no_kernel(Cause.CLAMP_SCALE, text)
        )
    return None


def check_copy(node: Node, numbers: StoredNumbers, ending: Epilogue) -> Decision | None:
    """Why a plain copy of elements is not a node's result; None where it is."""
    same = all(
        quantization is not None and ending.quantization and quantization.equals(ending.quantization)
        for quantization in numbers
    )
    if canonical(node) not in ("Slice", "Resize", "Upsample") or (same and not ending.clamps):
        return None
    text = "its input and output have different scales or bounds; reference code copies"
    return no_kernel(Cause.UNEQUAL_SCALES, text)
