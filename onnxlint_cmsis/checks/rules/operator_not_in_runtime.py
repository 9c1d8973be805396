"""The runtime does not have the operator.

The runtime can register no kernel for the operator, so that the model does not start. A custom operator can be
registered by the application, which then has to bring its kernel.

**What to do.** Replace the operator by ones that the runtime has, or register a kernel. What a converter makes of an
ONNX operator shows in the converted file: lint that, too.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.rules.operator_version import KNOWN
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

POWER = KNOWN.replace(bytes([18, 0, 0, 0]), bytes([78, 0, 0, 0]))
"""The model of MUL, number 18, with POW, number 78, in its place."""

RULE = Rule(
    code="CNN412",
    name="operator-not-in-runtime",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The runtime does not have the operator.",
    docs=__doc__,
    bad=Example(POWER, name="model.tflite", shown="a .tflite file with one operator: y = POW(a, b)"),
    good=Example(KNOWN, name="model.tflite", shown="a .tflite file with one operator: y = MUL(a, b)"),
    kinds=("runtime-operator",),
)

run = report_remark
