"""Padding that TensorFlow Lite cannot express becomes an operator.

TensorFlow Lite knows SAME, which follows from the sizes, and VALID, which is none. Other padding becomes a PAD, which
copies the input, in front of a layer with VALID.

**What to do.** Where the copy matters, pad as SAME does: as much at the end as at the beginning, or one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.runtime_checks import about_remark
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.runtimes.remark import RuntimeRemark

RULE = Rule(
    code="CNN404",
    name="padding-becomes-operator",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="Padding that TensorFlow Lite cannot express becomes an operator.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [2, 2, 0, 0]>(x, w)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
""",
        options="--runtime tflm",
    ),
    kinds=("padding",),
)


def run(remark: RuntimeRemark) -> Iterator[Statement]:
    """Yield the one statement."""
    yield replace(about_remark(remark), remedy="Nothing, or pad as SAME does: as much behind as in front, or one more.")
