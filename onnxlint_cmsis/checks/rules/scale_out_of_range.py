"""A scale cannot be computed with.

A scale has to be finite and above 0. A function multiplies its sums by (input scale x weight scale / output scale),
which converters write as an int32 multiplier and a shift. From 2^30 on TensorFlow Lite's QuantizeMultiplier takes the
largest multiplier there is, and the result is wrong. Below 2^-32 it takes 0: the channel then gives out one number
for every input. Softmax needs an input scale above 2^-26, since its multiplier, the input scale times 2^26, has to
exceed 1 (QuantizeMultiplierGreaterThanOne).

**What to do.** Look at the layer's weights and at the data that it was calibrated with. A scale of 0 or NaN comes
from a tensor that is constant or not finite, a tiny one from a tensor that was always zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.checks.quantization_check import QuantizationCheck, described
from onnxlint_cmsis.checks.rule import Example, Rule, RuleScope
from onnxlint_cmsis.checks.subject import ModelSubject
from onnxlint_cmsis.findings import Statement
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.graph.node_location import node_location
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.lower.weight_checks import vanished
from onnxlint_cmsis.types import Level

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, float t = {SCALE}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, t, z)
}
"""

RULE = Rule(
    code="CNN512",
    name="scale-out-of-range",
    level=Level.ERROR,
    scope=RuleScope.MODEL,
    summary="A scale cannot be computed with.",
    docs=__doc__,
    bad=Example(_MODEL.replace("SCALE", "0.0")),
    good=Example(_MODEL.replace("SCALE", "0.1")),
    kinds=(Cause.SCALE.value,),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node with such a scale, then for each with channels of one output."""
    yield from QuantizationCheck(RULE.kinds, _remedy)(subject)
    graph = subject.model.graph
    for record in subject.lowered.records:
        gone, all_ = vanished(record)
        if gone:
            text = f"the multipliers of {gone} of its {all_} channels are below 2^-32 and count as 0"
            said = f"{described(record.node)}: {text}, so that these give out one number whatever goes in."
            level = Level.WARNING if gone == all_ else Level.NOTE
            yield Statement(said, node_location(graph.path, record.node), level=level, cause=f"vanished {level.name}")


def _remedy(_graph: Graph, _records: Sequence[LoweredLayer]) -> str:
    return "Look at its weights and at the data of the calibration: a constant or missing tensor gives such a scale."
