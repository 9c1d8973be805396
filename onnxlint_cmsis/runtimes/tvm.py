"""TVM up to 0.18.0: which layers its partitioner hands to CMSIS-NN.

Read at 513c2be0, not run: the patterns and their checks (python/tvm/relay/op/contrib/cmsisnn.py), and the code
generator, which looks at less than the functions need (src/relay/backend/contrib/cmsisnn/relay_to_tir.cc). The rows
are for a model that reaches TVM as its reader of TensorFlow Lite files writes it.
"""

from __future__ import annotations

from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.condition_row import ConditionRow, always
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.padding_remarks import CONVOLUTIONS, PAIRS, POOLS

FILE = "python/tvm/relay/op/contrib/cmsisnn.py"
EMIT = "src/relay/backend/contrib/cmsisnn/relay_to_tir.cc"
SCALARS = "src/relay/backend/contrib/cmsisnn/scalar_to_tensor_constant.cc"
FRONT = "python/tvm/relay/frontend/tflite.py"
TVM_CODE, TVM_REFUSED, TVM_WRONG = Outcome.REFERENCE, Outcome.REFUSED, Outcome.WRONG
WEIGHTED = (*CONVOLUTIONS, "FULLY_CONNECTED")
PARTITIONED = ("SOFTMAX", *WEIGHTED, "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD", "MUL")
"""Operators with a pattern (FILE:75-383)."""
EXACT_SOFTMAX = (1 / 256, 1 / 32768)
"""Output scales that the partitioner compares with, bit for bit."""


def _without_bias(facts: LayerFacts) -> bool:
    return facts.call is not None and not facts.call.bias


def _unsigned(facts: LayerFacts) -> bool:
    return "uint8" in facts.activation_types


def _other_weights(facts: LayerFacts) -> bool:
    return facts.record.weights is not None and facts.record.weights.elem_type != "int8"


def _nearly_a_softmax_scale(facts: LayerFacts) -> bool:
    output = facts.record.output
    return facts.cause is None and output is not None and output.scale not in EXACT_SOFTMAX


def _one_number(facts: LayerFacts) -> bool:
    """One operand is a constant without axes, which TVM makes as large as the other, as int8."""
    return facts.broadcasts and () in facts.shapes and facts.type != "s16"


TVM_ROWS = (
    ConditionRow(
        "activation-type", TVM_CODE, PARTITIONED, _unsigned,
        "uint8 activations are not partitioned", f"{FILE}:90-101, 162-172, 260-272, 301-302, 367",
    ),
    ConditionRow(
        "weight-zero-point", TVM_CODE, WEIGHTED, lambda facts: facts.weight_zero_point,
        "weights with a zero-point are not partitioned", f"{FILE}:181-190, 274-277",
    ),
    ConditionRow(
        "weight-type", TVM_CODE, WEIGHTED, _other_weights,
        "int8 weights alone are partitioned", f"{FILE}:162-174, 260-272",
    ),
    ConditionRow(
        "zero-point-s16", TVM_CODE, (*CONVOLUTIONS, *PAIRS), always,
        "int16 activations with a zero-point are not partitioned", f"{FILE}:176-179, 374-381",
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "zero-point-s16", TVM_WRONG, ("FULLY_CONNECTED",), always,
        "a zero-point of int16 activations is not looked at, and arm_fully_connected_s16 reads none", f"{FILE}:252-277",
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "weight-scales", TVM_REFUSED, ("FULLY_CONNECTED",), lambda facts: facts.several_weight_scales,
        "its weights have a scale for each output, and TVM asserts that there is one", f"{FRONT}:2021, {EMIT}:374",
    ),
    ConditionRow(
        "bias", TVM_CODE, ("DEPTHWISE_CONV_2D",), _without_bias,
        "a depthwise convolution without a bias is not partitioned", f"{FILE}:142-150, 190",
    ),
    ConditionRow(
        "batch", TVM_CODE, POOLS, lambda facts: facts.batch > 1,
        "pools of a batch are not partitioned", f"{FILE}:299, 324",
    ),
    ConditionRow(
        "unequal-scales", TVM_REFUSED, POOLS, always,
        "a pool changes the scale, and TVM asserts that it keeps it", f"{FRONT}:2582, 2593",
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "attribute", TVM_WRONG, POOLS, lambda facts: any(step != 1 for step in facts.node.ints("dilations")),
        "the dilation of a pool is not looked at, and CMSIS-NN's pools have none", f"{FILE}:287-329, {EMIT}:450-481",
    ),
    ConditionRow(
        "activation-type", TVM_CODE, ("SOFTMAX",), lambda facts: facts.type == "s8_s16",
        "a softmax from int8 to int16 is not partitioned", f"{FILE}:88-103",
    ),
    ConditionRow(
        "softmax-scale", TVM_CODE, ("SOFTMAX",), always,
        "a softmax whose output has another scale than 1/256, or another zero-point than -128 (int16: 1/32768 and 0), "
        "is not partitioned",
        f"{FILE}:88-103",
        causes=(Cause.SOFTMAX_SCALE,),
    ),
    ConditionRow(
        "softmax-scale", TVM_CODE, ("SOFTMAX",), _nearly_a_softmax_scale,
        "a softmax whose output has another scale than 1/256 (int16: 1/32768), however near, is not partitioned",
        f"{FILE}:88-103",
    ),
    ConditionRow(
        "axis", TVM_WRONG, ("SOFTMAX",), always,
        "the axis of a softmax is not looked at, and the call runs over the last one", f"{FILE}:82-103, {EMIT}:531-538",
        causes=(Cause.AXIS,),
    ),
    ConditionRow(
        "", Outcome.CMSIS_NN, PAIRS, _one_number,
        "a constant without axes is made as large as the other operand", f"{SCALARS}:146-191",
    ),
    ConditionRow(
        "broadcast", TVM_WRONG, PAIRS, lambda facts: facts.broadcasts,
        "the shapes of its operands differ, which is not looked at; the call reads as many elements of each as the "
        "result has",
        f"{FILE}:345-383, {EMIT}:685-710, 758-788",
    ),
    ConditionRow(
        "mean", TVM_CODE, ("MEAN",), always,
        "a mean over a plane has no pattern; an average pool with the plane as window has one",
        f"{FILE}:279-304, 385-394", sure=False,
    ),
    ConditionRow(
        "no-function", TVM_CODE, (), lambda facts: facts.op not in PARTITIONED,
        "{op} is not partitioned", f"{FILE}:385-394",
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
