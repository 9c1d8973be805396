"""Subgraphs are nested deeper than protobuf reads.

Protobuf refuses messages nested more than 100 deep; each subgraph costs three levels. The exit code is 2.

**What to do.** Flatten the control flow before exporting.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level


def _nested(levels: int) -> str:
    """A graph of If nodes, each in a branch of another."""
    inner = "y = Identity(x)"
    for _ in range(levels):
        inner = f"y = If(c)<then_branch = b () => (float[1] y) {{ {inner} }}>"
    return f"g (float[1] x, bool c) => (float[1] y) {{ {inner} }}"


RULE = Rule(
    code="CNN007",
    name="nested-too-deep",
    level=Level.ERROR,
    effect=Effect.INVALID,
    summary="Subgraphs are nested deeper than protobuf reads.",
    docs=__doc__,
    bad=Example(_nested(31), shown="31 If nodes, each in a branch of another"),
    good=Example(_nested(3), shown="3 If nodes, each in a branch of another"),
    kinds=("too-deep",),
)

run = FileCheck("Write the model with fewer subgraphs inside one another.")
