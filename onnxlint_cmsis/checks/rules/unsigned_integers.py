"""Activations or weights are uint8.

CMSIS-NN's s8 functions take int8. The linter judges the model with 128 taken off each integer and zero-point, which
keeps every real number. Firmware that hands on uint8 computes wrong numbers; TensorFlow Lite Micro has no uint8
convolution.

**What to do.** Quantize as int8, or let the converter take off 128. ONNX Runtime: `activation_type=QuantType.QInt8,
weight_type=QuantType.QInt8`, its defaults for QDQ models. `--fix --fixable CNN504` takes off 128 inside of an ONNX
model; it saves nothing, so that it has to be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.fix_actions import RETYPE
from onnxlint_cmsis.checks.quantization_checks import described
from onnxlint_cmsis.checks.quantizer_advice import advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.node_location import node_location

_MODEL = """
g (TYPE[1, 4, 8, 8] x) => (TYPE[1, 4, 8, 8] y)
<float s = {0.1}, TYPE z = {ZERO}, int8[4, 4, 1, 1] w = {1}, int8 wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, wz)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN504",
    name="unsigned-integers",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="Activations or weights are uint8.",
    docs=__doc__,
    action=RETYPE,
    bad=Example(_MODEL.replace("TYPE", "uint8").replace("ZERO", "128")),
    good=Example(_MODEL.replace("TYPE", "int8").replace("ZERO", "0")),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node with uint8 operands; all say what is uint8 in the model."""
    graph = subject.model.graph
    unsigned = [(record.node, parts) for record in subject.lowered.records if (parts := _parts(record))]
    what = list(dict.fromkeys(part for _, parts in unsigned for part in parts))
    names = " and ".join(what)
    option = ", ".join(f"{part.removesuffix('s')}_type=QuantType.QInt8" for part in what)
    remedy = advice(graph, f"Quantize {names} as int8, or let the converter take off 128", option)
    for node, parts in unsigned:
        text = f"{described(node)}: it runs as int8 once 128 is taken off: its {' and '.join(parts)} are uint8."
        exact = "Taking 128 off their integers and zero-points is exact."
        yield Statement(text, node_location(graph.path, node), group="uint8", remedy=f"{exact} {remedy}")


def _parts(record: LoweredLayer) -> list[str]:
    """What of a node is uint8."""
    activations = any(end is not None and end.elem_type == "uint8" for end in (*record.inputs, record.output))
    weights = record.weights is not None and record.weights.elem_type == "uint8"
    return ["activations"] * activations + ["weights"] * weights
