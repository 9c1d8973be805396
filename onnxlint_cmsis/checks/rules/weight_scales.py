"""Weights have other scales than one for each output channel.

CMSIS-NN's convolutions have a multiplier and shift for each output channel (`cmsis_nn_per_channel_quant_params`),
fully connected layers one for all outputs, in s8 from 7.0.0 on one for each. Scales along another axis, or for blocks
of weights, fit no function.

**What to do.** Give the weights one scale, or one for each output channel: axis 0 of Conv, axis 1 of ConvTranspose,
the last axis of MatMul. A fully connected layer of int16 activations or 4-bit weights takes one. ONNX Runtime:
`per_channel=True`; for one layer's weights one scale by `extra_options={"TensorQuantOverrides": {"name of the
weights": [{"quant_type": QuantType.QInt8, "symmetric": True}]}}`; `QDQOpTypePerChannelSupportToAxis` names the axis
of MatMul (read, not tried).
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice, float_name
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Function, Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, float[4] ws = {0.1}, int8[4] wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear<axis = AXIS>(w, ws, wz)
    c = Conv(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN502",
    name="weight-scales",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Weights have other scales than one for each output channel.",
    docs=__doc__,
    bad=Example(_MODEL.replace("AXIS", "1")),
    good=Example(_MODEL.replace("AXIS", "0")),
    kinds=(Cause.WEIGHT_SCALES.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    first = records[0]
    if first.weights and first.weights.blocks:
        return advice(graph, "Quantize the weights with one scale for each output channel", "quantize_static")
    if first.layer and first.layer.call.function is Function.FULLY_CONNECTED and first.layer.call.types != "s8":
        weights = float_name(first.node.inputs[operator_of(first.node).roles.second])
        kind = "QInt4" if first.layer.call.types == "s4" else "QInt8"
        option = f'"{weights}": [{{"quant_type": QuantType.{kind}, "symmetric": True}}]'
        option = f'extra_options={{"TensorQuantOverrides": {{{option}}}}}'
        return advice(graph, "Quantize its weights with one scale", option)
    return advice(graph, "Quantize the weights with one scale for each output channel, or with one", "per_channel=True")


run = QuantizationCheck(RULE.kinds, _remedy)
