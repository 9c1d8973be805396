"""A kernel will return an error.

CMSIS-NN kernels check some of their preconditions when they run and return `ARM_CMSIS_NN_ARG_ERROR` (-1),
`ARM_CMSIS_NN_NO_IMPL_ERROR` (-2) or `ARM_CMSIS_NN_FAILURE` (-3). The layer's output is then not computed, and most
runtimes abort the inference. The shape of this layer on this release and CPU is one of these cases.

**What to do.** The message gives the sizes that matter, what they would have to be and what avoids the case:
often a channel count that takes another kernel, otherwise other padding, another release, or another form of the
layer. Other padding, strides and sizes of the input change what the layer computes: the model has to be trained with
them. A Pad node in front of the layer, and channels of zeros, change nothing.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.facts import REPAIR
from onnxlint_cmsis.checks.kinds import HazardCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN301",
    name="returns-error",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="A kernel will return an error.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 48] x) => (float[N, C, L] y) <float[8, 8, 5] w = {1}> {
    y = Conv<pads = [3, 0]>(x, w)
}
""",
        options="--target cortex-m55",
    ),
    good=Example(
        """
g (float[1, 8, 48] x) => (float[N, C, L] y) <float[8, 8, 5] w = {1}> {
    y = Conv<pads = [2, 2]>(x, w)
}
""",
        options="--target cortex-m55",
    ),
    kinds=("returns-error",),
    action=REPAIR,
)

run = HazardCheck(RULE.kinds)
