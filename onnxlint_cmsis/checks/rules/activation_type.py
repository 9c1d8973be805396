"""Activations are of a type that CMSIS-NN does not take.

Functions read and write int8, or read and write int16. uint16, int4, int32, and int8 in with int16 out fit none that
the linter follows.

**What to do.** Quantize all activations as int8, or all as int16 with zero-point 0. ONNX Runtime:
`activation_type=QuantType.QInt8`, or `QuantType.QInt16` with `extra_options={"ActivationSymmetric": True}`, and no
`TensorQuantOverrides` with another `quant_type`.
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
g (TYPE[1, 4, 8, 8] x) => (TYPE[1, 4, 8, 8] y)
<float s = {0.1}, TYPE z = {0}, int8[4, 4, 1, 1] w = {1}, int8 wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN506",
    name="activation-type",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Activations are of a type that CMSIS-NN does not take.",
    docs=__doc__,
    bad=Example(_MODEL.replace("TYPE", "uint16")),
    good=Example(_MODEL.replace("TYPE", "int16")),
    kinds=(Cause.ACTIVATION_TYPE.value,),
)


def _remedy(graph: Graph, _records: Sequence[LoweredLayer]) -> str:
    option = (
        'activation_type=QuantType.QInt8, or QuantType.QInt16 with extra_options={"ActivationSymmetric": True}, and no '
        "other quant_type in TensorQuantOverrides"
    )
    return advice(graph, "Quantize all activations as int8, or all as int16 with zero-point 0", option)


run = QuantizationCheck(RULE.kinds, _remedy)
