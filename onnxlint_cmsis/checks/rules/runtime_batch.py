"""The runtime takes one image at a time for this layer.

Older kernels of TensorFlow Lite Micro pool the first image of a batch alone and leave the others unwritten (until
2026-06-01), or halt on a depthwise convolution of a batch in a build with checks (until 2026-05-27). ExecuTorch makes
a grouped convolution of a depthwise one with a batch, and TVM does not hand over pools with one.

**What to do.** Run one image at a time, or use a newer revision.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN408",
    name="runtime-batch",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime takes one image at a time for this layer.",
    docs=__doc__,
    bad=Example(
        """
g (float[2, 4, 8, 8] x) => (float[2, 4, 4, 4] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm@2026-05",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 4, 4] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm@2026-05",
    ),
    kinds=("runtime-batch",),
)

run = report_remark
