"""The runtime takes no dense layer with a scale for each output.

A fully connected layer has one scale for all weights, or one for each output. TensorFlow Lite Micro takes the latter
with int8 activations alone; before 2024-09 it computed them wrongly with int8, too (its pull request 2602), while the
TensorFlow Lite converter has made them by default since 2024. ExecuTorch lowers per-tensor weights alone, and TVM
ends with an error.

Where a rule on quantization (CNN5xx) knows the cause, that rule says what the runtime does, and this one is silent.

**What to do.** Quantize dense layers per tensor.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN410",
    name="runtime-per-channel-dense",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime takes no dense layer with a scale for each output.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8] x) => (float[1, 2] y)
<float s = {0.1}, int16 z = {0}, int8[8, 2] w = {1}, float[2] ws = {0.1, 0.2}, int8[2] wz = {0, 0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear<axis = 1>(w, ws, wz)
    c = MatMul(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    good=Example(
        """
g (float[1, 8] x) => (float[1, 2] y)
<float s = {0.1}, int16 z = {0}, int8[8, 2] w = {1}, float ws = {0.1}, int8 wz = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(w, ws, wz)
    c = MatMul(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    kinds=("runtime-per-channel-dense",),
)

run = report_remark
