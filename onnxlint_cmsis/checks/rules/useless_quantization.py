"""A DequantizeLinear and QuantizeLinear pair does nothing.

With the same type, scale and zero-point it gives back the same integers. It costs two passes over the tensor, unless
the converter takes it out.

**What to do.** Take both out.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.fix_actions import REWRITE
from onnxlint_cmsis.checks.quantization_checks import described
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.qdq_pairs import useless_pairs
from onnxlint_cmsis.model.node_location import node_location

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    BEFOREa = DequantizeLinear(INPUT, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN514",
    name="useless-quantization",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A DequantizeLinear and QuantizeLinear pair does nothing.",
    docs=__doc__,
    action=REWRITE,
    bad=Example(
        _MODEL.replace("BEFORE", "d = DequantizeLinear(x, s, z)\n    e = QuantizeLinear(d, s, z)\n    ").replace(
            "INPUT", "e"
        )
    ),
    good=Example(_MODEL.replace("BEFORE", "").replace("INPUT", "x")),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each pair."""
    graph = subject.model.graph
    for before, node in useless_pairs(graph):
        text = f"{described(node)} gives back the integers that {described(before)} reads."
        yield Statement(text, node_location(graph.path, node), group="pair", remedy="Both can go.")
