"""The runtime computes a layer wrongly and reports success.

The kernel of the runtime ignores something that the model says, and returns success. For example, TensorFlow Lite
Micro's convolutions neither check nor use the zero-point of the weights.

Where a rule on quantization (CNN5xx) knows the cause, that rule says what the runtime does, and this one is silent.

**What to do.** The message says what is ignored. For weights: quantize them symmetrically.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN402",
    name="runtime-wrong",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="The runtime computes a layer wrongly and reports success.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, int8 wz = {3}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, int8 wz = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    kinds=("runtime-wrong",),
)

run = report_remark
