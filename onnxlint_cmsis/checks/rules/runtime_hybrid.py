"""The runtime takes no layer of float activations and integer weights.

Dynamic quantization stores weights as integers and keeps activations in float, or works their scale out at run time.
No kernel of CMSIS-NN does that, and TensorFlow Lite Micro refuses such layers at start ("Hybrid models are not
supported").

Where a rule on quantization (CNN5xx) knows the cause, that rule says what the runtime does, and this one is silent.

**What to do.** Quantize with calibration data (static quantization), so that activations have scales in the file.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN406",
    name="runtime-hybrid",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime takes no layer of float activations and integer weights.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8] x) => (float[N, M] y) <int8[8, 4] w = {1}, int8 wz = {0}, float ws = {0.1}> {
    q, s, z = DynamicQuantizeLinear(x)
    i = MatMulInteger(q, w, z, wz)
    f = Cast<to = 1>(i)
    t = Mul(s, ws)
    y = Mul(f, t)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    good=Example(
        """
g (float[1, 8] x) => (float[N, M] y) <float[8, 4] w = {1}> {
    y = MatMul(x, w)
}
""",
        options="--runtime tflm --ignore CNN5",
    ),
    kinds=("runtime-hybrid",),
)

run = report_remark
