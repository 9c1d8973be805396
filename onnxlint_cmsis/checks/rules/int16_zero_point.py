"""int16 activations have a zero-point.

CMSIS-NN's s16 functions have no offset (arm_convolve_s16.c, arm_fully_connected_s16.c): with a zero-point other than
0 they compute wrong numbers and return SUCCESS.

**What to do.** Quantize symmetrically. ONNX Runtime: `activation_type=QuantType.QInt16,
extra_options={"ActivationSymmetric": True}`.
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
<ir_version: 10, opset_import: ["" : 21]>
g (int16[1, 4, 8, 8] x) => (int16[1, 4, 8, 8] y)
<float s = {0.1}, int16 z = {ZERO}, int8[4, 4, 1, 1] w = {1}, int8 wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN505",
    name="int16-zero-point",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="int16 activations have a zero-point.",
    docs=__doc__,
    bad=Example(_MODEL.replace("ZERO", "12")),
    good=Example(_MODEL.replace("ZERO", "0")),
    kinds=(Cause.ZERO_POINT_S16.value,),
)


def _remedy(graph: Graph, _records: Sequence[LoweredLayer]) -> str:
    option = 'extra_options={"ActivationSymmetric": True}'
    return advice(graph, "Quantize int16 activations symmetrically, with zero-point 0", option)


run = QuantizationCheck(RULE.kinds, _remedy)
