"""TVM up to 0.18.0: which layers its partitioner hands to CMSIS-NN.

Read at 513c2be0 (python/tvm/relay/op/contrib/cmsisnn.py), not run.
"""

from __future__ import annotations

from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.runtimes.condition_rows import ConditionRow, always
from onnxlint_cmsis.runtimes.layer_facts import LayerFacts
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict

FILE = "python/tvm/relay/op/contrib/cmsisnn.py"
REFERENCE = RuntimeVerdict.REFERENCE
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
WEIGHTED = (*CONVOLUTIONS, "FULLY_CONNECTED")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PARTITIONED = (*WEIGHTED, *POOLS, "SOFTMAX", "ADD", "MUL", "MEAN")
"""Operators with a pattern; MEAN, where it is a global average pool."""


def _without_bias(facts: LayerFacts) -> bool:
    return facts.call is not None and not facts.call.bias


ROWS = (
    ConditionRow(
        "runtime-reference", REFERENCE, WEIGHTED, lambda facts: facts.weight_zero_point,
        "weights with a zero-point are not partitioned", f"{FILE}:235-277",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, (*CONVOLUTIONS, "ADD", "MUL"), always,
        "int16 activations with a zero-point are not partitioned", FILE,
        causes=(Cause.ZERO_POINT_S16,),
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("DEPTHWISE_CONV_2D",), _without_bias,
        "a depthwise convolution without a bias is not partitioned", FILE,
    ),
    ConditionRow(
        "runtime-batch", REFERENCE, POOLS, lambda facts: facts.batch > 1,
        "pools of a batch are not partitioned", f"{FILE}:287-329",
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, POOLS, always,
        "a pool that changes the scale is not partitioned", f"{FILE}:287-329",
        causes=(Cause.UNEQUAL_SCALES,),
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, ("SOFTMAX",), always,
        "a softmax whose output has another scale than 1/256, or another zero-point than -128, is not partitioned",
        FILE,
        causes=(Cause.SOFTMAX_SCALE,),
    ),
    ConditionRow(
        "runtime-reference", REFERENCE, (), lambda facts: facts.op not in PARTITIONED,
        "{op} is not partitioned", FILE,
    ),
)  # fmt: skip
"""Conditions in the order in which they are asked; the first that holds decides."""
