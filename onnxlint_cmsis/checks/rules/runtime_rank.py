"""The runtime has no kernel for so many dimensions.

CMSIS-NN's functions take four dimensions. TensorFlow Lite Micro hands a Transpose of five to them all the same, drops
the error and never writes the output; it pads the last four of five alone. A channel shuffle is such a Transpose.

**What to do.** Write a channel shuffle with four dimensions: with a batch of 1, reshape to [groups, channels / groups,
height, width] and exchange the first two.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN409",
    name="runtime-rank",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime has no kernel for so many dimensions.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 2, 4, 8, 8] x) => (float[1, 4, 2, 8, 8] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Transpose<perm = [0, 2, 1, 3, 4]>(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[2, 4, 8, 8] x) => (float[4, 2, 8, 8] y)
<float s = {0.1}, int8 z = {0}> {
    q = QuantizeLinear(x, s, z)
    a = DequantizeLinear(q, s, z)
    b = Transpose<perm = [1, 0, 2, 3]>(a)
    c = QuantizeLinear(b, s, z)
    y = DequantizeLinear(c, s, z)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-rank",),
)

run = report_remark
