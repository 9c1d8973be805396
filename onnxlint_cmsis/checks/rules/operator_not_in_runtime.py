"""The runtime does not have the operator.

The runtime can register no kernel for the operator, so that the model does not start. A custom operator can be
registered by the application, which then has to bring its kernel.

**What to do.** Replace the operator by ones that the runtime has, or register a kernel. What a converter makes of an
ONNX operator shows in the converted file: lint that, too.
"""

from __future__ import annotations

from binascii import a2b_base64
from zlib import decompress

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule, RuleScope
from onnxlint_cmsis.ground.types import Level

POWER = decompress(
    a2b_base64(
        "eNqTYGBgCHHzMeZjEGFgYeBg4AHyBaCYGYhFgDgAiD2YGIDyIMjAwAiV5wGSID5IF0ifH1QORENUguQQ+jD1w+wUgNvbAZScAMRT"
        "GCH2KwDxFJA5QD4fgwRcvQgDBIhAMSeUrwLEJkDMBLUHl/0VYPt5wHpg/uYAi0HkgcAeSoMBut0CZNpbMED2VpJoLxOUZoRiJqR4"
        "4wLHO8QMHqR4kEGLd1xm8KCpAwDCzA0Q"
    )
)
"""A model of one operator POW, number 78."""
PRODUCT = POWER.replace(bytes([78, 0, 0, 0]), bytes([18, 0, 0, 0]))
"""The same with MUL, number 18."""

RULE = Rule(
    code="CNN412",
    name="operator-not-in-runtime",
    level=Level.ERROR,
    scope=RuleScope.RUNTIME,
    summary="The runtime does not have the operator.",
    docs=__doc__,
    bad=Example(POWER, name="model.tflite", shown="a .tflite file with one operator: y = POW(x, p)"),
    good=Example(PRODUCT, name="model.tflite", shown="a .tflite file with one operator: y = MUL(x, p)"),
    kinds=("runtime-operator",),
)

run = report_remark
