"""Weights have a zero-point that CMSIS-NN does not take.

Convolutions have no offset for the filter (Include/arm_nn_types.h): they take zero-point 0, and give wrong numbers
with status SUCCESS. `cmsis_nn_fc_params` has one `filter_offset` for all outputs, which the s8 functions read from
6.0.0 on; those for s16 and s4 take 0.

**What to do.** Quantize symmetrically: int8, zero-point 0. ONNX Runtime: `weight_type=QuantType.QInt8`, without
`WeightSymmetric: False` in `extra_options`.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

_MODEL = """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, int8 wz = {ZERO}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
"""

RULE = Rule(
    code="CNN501",
    name="weight-zero-point",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Weights have a zero-point that CMSIS-NN does not take.",
    docs=__doc__,
    bad=Example(_MODEL.replace("ZERO", "3")),
    good=Example(_MODEL.replace("ZERO", "0")),
    kinds=(Cause.WEIGHT_ZERO_POINT.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    unsigned = any(record.weights and record.weights.elem_type == "uint8" for record in records)
    option = "weight_type=QuantType.QInt8" if unsigned else 'extra_options={"WeightSymmetric": True}'
    return advice(graph, "Quantize the weights symmetrically, as int8 with zero-point 0", option)


run = QuantizationCheck(RULE.kinds, _remedy)
