"""A bias has another type, scale or zero-point than the sums it is added to.

Each sum starts from the bias: int32 (in int16 layers int64, or int32 where the caller says so), of the input's scale
times the weights' scale, with zero-point 0. Handed on as it stands, a bias of another scale gives wrong numbers with
status SUCCESS; TensorFlow Lite Micro does not check it. A converter has to write it anew, which rounds it by at most
half a unit of the sums. A float bias is rounded so too, at no cost.

**What to do.** Quantize the bias with the product of both scales, as ONNX Runtime does without
`extra_options={"QuantizeBias": False}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.quantization_checks import described
from onnxlint_cmsis.checks.quantizer_advice import advice, brief_advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.stored_bias import BiasNumbers, bias_of
from onnxlint_cmsis.model.node_location import node_location

WIDE = ("int32", "int64")
"""Types of a bias whose integers a caller may hand on."""
SEEN = 0.5
"""Steps of the output from which on a difference can be seen."""

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, int32[4] v = {500}, float t = {SCALE}, int32 u = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    k = DequantizeLinear(v, t, u)
    c = Conv(a, b, k)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN508",
    name="bias-scale",
    level=Level.WARNING,
    effect=Effect.WRONG,
    summary="A bias has another type, scale or zero-point than the sums it is added to.",
    docs=__doc__,
    bad=Example(_MODEL.replace("SCALE", "0.02")),
    good=Example(_MODEL.replace("SCALE", "0.01")),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer whose bias has to be written anew."""
    graph = subject.model.graph
    for record in subject.lowered.records:
        bias = bias_of(graph, record)
        if bias is None:
            continue
        for level, group, text in _said(bias):
            wanted = advice(graph, "Quantize it as int32 of that scale, zero-point 0", 'no {"QuantizeBias": False}')
            where = node_location(graph.path, record.node)
            said = Statement(f"{described(record.node)}: {text}", where, level=level, group=group, remedy=wanted)
            said = replace(said, brief_remedy=brief_advice(wanted))
            rewritten = level is Level.WARNING and not subject.model.execution.reads_file  # by a converter, it may be
            yield replace(said, effect=Effect.MAY_FAIL) if rewritten else said


def _said(bias: BiasNumbers) -> Iterator[tuple[Level, str, str]]:
    """Level, group and what is wrong with a bias."""
    if bias.stored is None or bias.stored.elem_type not in WIDE:
        kind = bias.stored.elem_type if bias.stored else "float"
        yield (
            Level.NOTE,
            kind,
            f"the converter has to write its bias anew: it is {kind}, and the kernels add integers of scale "
            "input x weight.",
        )
    elif bias.factor != 1.0 or any(bias.stored.zero_points or ()):
        what = f"has {bias.factor:.4g} times the scale input x weight" if bias.factor != 1.0 else "has a zero-point"
        level = Level.WARNING if bias.off >= SEEN else Level.NOTE
        off = f"results are off by up to {bias.off:,.1f} steps of the output if its bias is taken as it stands"
        yield level, "scale", f"{off}: it {what}, and the kernels have no argument for that."
