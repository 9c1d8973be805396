"""Scales are known only at run time.

In dynamic (hybrid) quantization the device looks for an activation's range in every run. CMSIS-NN's functions take
offsets, multipliers and shifts as constants, so none of these layers runs there.

**What to do.** Quantize statically, with a few hundred typical inputs. ONNX Runtime: `quantize_static(...,
calibration_data_reader)` in place of `quantize_dynamic`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onnxlint_cmsis.checks.quantization_checks import offences, statements
from onnxlint_cmsis.checks.quantizer_advice import advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.float_islands import islands
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

RULE = Rule(
    code="CNN507",
    name="dynamic-quantization",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Scales are known only at run time.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float ws = {0.1}, int8[4, 4, 1, 1] w = {1}, int8 wz = {0}> {
    q, s, z = DynamicQuantizeLinear(x)
    c = ConvInteger(q, w, z, wz)
    f = Cast<to = 1>(c)
    t = Mul(s, ws)
    y = Mul(f, t)
}
"""),
    good=Example("""
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""),
    kinds=(Cause.DYNAMIC_QUANTIZATION.value,),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node; the first says how many compute in float between dynamic layers."""
    graph = subject.model.graph
    between = sum(len(island.records) for island in islands(graph, subject.lowered) if island.dynamic)
    said = [
        statement for offence in offences(subject, RULE.kinds) for statement in statements(subject, offence, _remedy)
    ]
    if said and between:
        said[0] = replace(
            said[0], message=f"{said[0].message} {between} more nodes compute in float between such layers."
        )
    yield from said


def _remedy(graph: Graph, _records: Sequence[LoweredLayer]) -> str:
    return advice(graph, "Quantize statically, with calibration data", "quantize_static in place of quantize_dynamic")
