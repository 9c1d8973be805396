"""The runtime refuses a layer, or halts.

A runtime checks scales, zero-points, types and sizes before it runs a model. Where a check fails, it refuses the whole
model at start (TensorFlow Lite Micro: `AllocateTensors` fails), or stops the firmware in a build with checks.
The message names the check by file and line.

Where a rule on quantization (CNN5xx) knows the cause, that rule says what the runtime does, and this one is silent.

**What to do.** Give the layer the numbers that the check asks for: a softmax scale of 1/256 with zero-point -128,
equal scales around pools and concatenations, int16 activations with zero-point 0.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN401",
    name="runtime-stops",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime refuses a layer, or halts.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 16] x) => (float[1, 16] y)
<float s = {0.1}, int8 z = {0}, float t = {0.00392157}, int8 u = {-128}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Softmax<axis = 1>(a)
    c = QuantizeLinear(b, t, u)
    y = DequantizeLinear(c, t, u)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    good=Example(
        """
g (float[1, 16] x) => (float[1, 16] y)
<float s = {0.1}, int8 z = {0}, float t = {0.00390625}, int8 u = {-128}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Softmax<axis = 1>(a)
    c = QuantizeLinear(b, t, u)
    y = DequantizeLinear(c, t, u)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    kinds=("runtime-stops",),
)

run = report_remark
