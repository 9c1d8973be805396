"""A float function is off by more than its type's own rounding.

A few of CMSIS-NN's functions for f32 and f16 have a large error: half precision adds up, and some curves are
approximations. The message says what makes the error, and how far a result can be off at most.

**What to do.** Compare the results on the device with ONNX Runtime's. Where they are off too far, compute the layer
in f32, or in other code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT
from onnxlint_cmsis.cmsis_nn.library import evidence
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN305",
    name="inexact",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="A float function is off by more than its type's own rounding.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 4, 4] x) => (float[N, C, H, W] y) <float[4, 8, 1, 1] w = {1}> {
    a = Conv(x, w)
    y = Tanh(a)
}
""",
        options="--assume f16 --target cortex-m4",
    ),
    good=Example(
        """
g (float[1, 8, 4, 4] x) => (float[N, C, H, W] y) <float[4, 8, 1, 1] w = {1}> {
    a = Conv(x, w)
    y = Tanh(a)
}
""",
        options="--assume f16 --target cortex-m55",
    ),
    kinds=(INEXACT,),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for each row that the route of a layer meets."""
    release = subject.target.release
    for row in subject.route.inexact:
        bound = row.bound.text(subject.route.seen) if row.bound else ""
        said = subject.say(f"{subject.route.effective} {row.brief}{f': off by up to {bound}' if bound else ''}.")
        yield replace(
            said,
            sources=(row.origin.source(release),),
            properties={"hazard": row.id, "why": row.what, "known": evidence(row, release)},
            group=row.id,
            remedy=row.way_round,
        )
