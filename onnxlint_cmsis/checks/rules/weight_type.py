"""Weights are of a type that CMSIS-NN does not take.

CMSIS-NN multiplies by int8 weights, and from 5.0.0 on by int4 ones of int8 activations. Weights of 16 bits, of 4
unsigned bits, or in float beside quantized activations fit no function.

**What to do.** Quantize the weights as int8. ONNX Runtime: `weight_type=QuantType.QInt8`, and no layer in
`nodes_to_exclude`; for ConvTranspose `quant_format=QuantFormat.QDQ`.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.model.graph import Graph

RULE = Rule(
    code="CNN503",
    name="weight-type",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Weights are of a type that CMSIS-NN does not take.",
    docs=__doc__,
    bad=Example("""
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y) <float s = {0.1}, int8 z = {0}, float[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    c = Conv(a, w)
    y = QuantizeLinear(c, s, z)
}
"""),
    good=Example("""
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y) <float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""),
    kinds=(Cause.WEIGHT_TYPE.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    option = "weight_type=QuantType.QInt8"
    if any(record.weights is None for record in records):
        operators = any(parameters_of(node, 0) and parameters_of(node, -1) for node in graph.nodes)
        left_out = "leave it out of nodes_to_exclude, and name its operator in op_types_to_quantize"
        option = "quant_format=QuantFormat.QDQ" if operators else left_out
    return advice(graph, "Quantize the weights as int8", option)


run = QuantizationCheck(RULE.kinds, _remedy)
