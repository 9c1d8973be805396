"""A layer computes in float, in the runtime's reference code.

The model is quantized, and this layer is not: the runtime has float code for it that calls no function of CMSIS-NN.

Where a rule on quantization (CNN5xx) knows the cause, that rule says what the runtime does, and this one is silent.

**What to do.** Quantize the layer as well; mostly a QuantizeLinear behind it is missing, or the quantizer left it out.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN407",
    name="runtime-float",
    level=Level.WARNING,
    effect=Effect.BESIDE,
    summary="A layer computes in float, in the runtime's reference code.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = Relu(c)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    kinds=("runtime-float",),
)

run = report_remark
