"""The runtime runs reference code, not CMSIS-NN.

The runtime computes the layer in portable code that no instruction set speeds up. This is a warning where the runtime
has a CMSIS-NN kernel for the operator, and the layer's types or shapes keep it from that kernel. It is a note where
the runtime has no such kernel at all.

**What to do.** The message says what decided. Types: int8 has the most kernels. An operator without a kernel
costs more the larger its tensors are.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN403",
    name="runtime-reference-code",
    level=Level.WARNING,
    effect=Effect.BESIDE,
    summary="The runtime runs reference code, not CMSIS-NN.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 8, 8, 8] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Concat<axis = 1>(a, a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Add(a, a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-reference",),
)

run = report_remark
