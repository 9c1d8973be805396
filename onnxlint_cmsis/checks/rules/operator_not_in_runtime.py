"""The runtime does not have the operator.

The runtime can register no kernel for the operator, so that the model does not start. A custom operator can be
registered by the application, which then has to bring its kernel.

**What to do.** Replace the operator by ones that the runtime has, or register a kernel. What a converter makes of an
ONNX operator shows in the converted file: lint that, too.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.rule import Example, Rule, RuleScope
from onnxlint_cmsis.checks.runtime_check import report_remark
from onnxlint_cmsis.types import Level

RULE = Rule(
    code="CNN412",
    name="operator-not-in-runtime",
    level=Level.ERROR,
    scope=RuleScope.RUNTIME,
    summary="The runtime does not have the operator.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8] x) => (float[N, M] y) <float[1] p = {2}> {
    y = Pow(x, p)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 8] x) => (float[N, M] y) {
    y = Mul(x, x)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-operator",),
)

run = report_remark
