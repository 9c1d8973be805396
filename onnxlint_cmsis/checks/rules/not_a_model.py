"""The file is not a model of the format that its name tells.

`.tflite` is a flatbuffer with the identifier `TFL3`, `.pte` one with `ET12`, and any other name an ONNX `ModelProto`.
This file is empty, truncated, text, of another format, or its offsets lead out of it; or its graph cannot be: a cycle,
an axis that an input does not have. The exit code is 2; other files are still linted.

**What to do.** Export, convert or copy the model again.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN002",
    name="not-a-model",
    level=Level.ERROR,
    effect=Effect.INVALID,
    summary="The file is not a model of the format that its name tells.",
    docs=__doc__,
    bad=Example(b"A text, no model.\n"),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("not-a-model",),
)

run = FileCheck("Export the model again, or copy it again.")
