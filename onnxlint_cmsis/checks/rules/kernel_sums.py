"""A function reads sums that the application has to compute before it calls it.

On MVE `arm_fully_connected_s8` and `arm_svdf_s8` read the sums of their weights from `ctx->buf` (since 5.0.0), and an
LSTM reads them from its parameters on every core. The size functions tell the bytes alone. Without a buffer they return
ARM_CMSIS_NN_ARG_ERROR; with other numbers in it they return SUCCESS and wrong results. Runtimes compute the sums
themselves, so that the rule is about applications that call CMSIS-NN: it is silent with `--runtime tflm` and for
`.tflite` and `.pte` files.

**What to do.** Make the call that the message names: once, where each of these layers has a buffer of its own, or
before every run of the layer, where they share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

_MODEL = """
g (float[1, 8] x) => (float[N, M] y) <float[8, 4] w = {1}> {
    y = MatMul(x, w)
}
"""

RULE = Rule(
    code="CNN306",
    name="kernel-sums",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="A function reads sums that the application has to compute before it calls it.",
    docs=__doc__,
    bad=Example(_MODEL, options="--target cortex-m55"),
    good=Example(_MODEL, options="--target cortex-m4"),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for a layer whose sums nobody but the application computes."""
    duty = subject.model.execution.duty(subject.layer.call, subject.target)
    if duty is None or not subject.route.kernel:
        return
    text = f"{subject.route.kernel} reads sums that the application computes: {duty.what}; {duty.otherwise}."
    remedy = f"Call {duty.call(subject.target.release)} once, into a buffer of each layer's own, or before every run."
    read = (duty.origin.source(subject.target.release),)
    yield replace(subject.say(text), remedy=remedy, group=duty.id, sources=read)
