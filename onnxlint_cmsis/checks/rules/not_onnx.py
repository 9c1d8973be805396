"""The file is not an ONNX model.

The bytes are not those of a serialized `ModelProto`: the file is empty, truncated, text, or of another format.
The message says what was found. The exit code is 2; other files of the same run are still linted.

**What to do.** Export the model again. A truncated file usually comes from an interrupted copy or upload.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.facts import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN002",
    name="not-onnx",
    level=Level.ERROR,
    effect=Effect.UNKNOWN,
    summary="The file is not an ONNX model.",
    docs=__doc__,
    bad=Example(b"A text, no model.\n"),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("not-onnx",),
)

run = FileCheck("Give an ONNX model, or export it again.")
