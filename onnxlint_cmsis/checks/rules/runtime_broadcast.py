"""A runtime adds or multiplies tensors of different shapes in reference code.

TensorFlow Lite Micro's ADD and MUL call CMSIS-NN where both shapes are equal. Each broadcast, also of a single number,
runs reference code, which works out the place of each value one by one.

**What to do.** Fold a constant factor or offset into the layer in front (weights and bias), or give both tensors one
shape.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN404",
    name="runtime-broadcast",
    level=Level.WARNING,
    effect=Effect.BESIDE,
    summary="A runtime adds or multiplies tensors of different shapes in reference code.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[1, 4, 1, 1] k = {1}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(k, s, z)
    c = Mul(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[1, 4, 8, 8] k = {1}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = DequantizeLinear(k, s, z)
    c = Mul(a, b)
    d = QuantizeLinear(c, s, z)
    y = DequantizeLinear(d, s, z)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-broadcast",),
)

run = report_remark
