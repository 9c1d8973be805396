"""An average over a plane becomes MEAN, which has no CMSIS-NN kernel.

Converters write a global average pool and a mean over height and width as MEAN. TensorFlow Lite Micro has no CMSIS-NN
kernel for it, and TVM no pattern; an AVERAGE_POOL_2D has both.

**What to do.** Export the layer as an average pool with the plane's size as window, `AvgPool2d(k)`, and look at the
converted file.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN405",
    name="mean-for-average-pool",
    level=Level.WARNING,
    effect=Effect.BESIDE,
    summary="An average over a plane becomes MEAN, which has no CMSIS-NN kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 1, 1] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = GlobalAveragePool(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 1, 1] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = AveragePool<kernel_shape = [8, 8]>(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-mean",),
)

run = report_remark
