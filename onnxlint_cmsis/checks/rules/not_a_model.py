"""The file is not a model of the format that its name tells.

A file whose name ends in `.tflite` is read as a flatbuffer with the identifier `TFL3`, one that ends in `.pte` as a
flatbuffer with the identifier `ET12`, and any other as a serialized ONNX `ModelProto`. This one is empty, truncated,
text, of another format, or its offsets lead out of the file. The message says what was found. The exit code is 2; other
files of the same run are still linted.

**What to do.** Export, convert or copy the model again. A truncated file usually comes from an interrupted copy or
upload.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.facts import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN002",
    name="not-a-model",
    level=Level.ERROR,
    effect=Effect.UNKNOWN,
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
