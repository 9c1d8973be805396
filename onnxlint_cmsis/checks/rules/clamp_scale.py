"""A clamp stands behind a change of scale.

Relu and Clip cost nothing where the function in front clamps: where the clamp's result has the scale that it writes.
The clamp runs alone behind a QuantizeLinear of another scale, or a function that has no clamp. arm_relu_q7 and
arm_relu6_s8 know neither scale nor zero-point.

**What to do.** Give the tensor in front of the clamp the clamp's scale and zero-point. ONNX Runtime:
`ActivationSymmetric` off, or `extra_options={"TensorQuantOverrides": {"name": [{"scale": np.array(..., np.float32),
"zero_point": np.array(..., np.int8)}]}}`, with the tensor's name in the float model.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice, overrides
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {1}, float t = {SCALE}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, z)
    c = Conv(a, b)
    d = QuantizeLinear(c, t, z)
    e = DequantizeLinear(d, t, z)
    f = Relu(e)
    y = QuantizeLinear(f, s, z)
}
"""

RULE = Rule(
    code="CNN511",
    name="clamp-scale",
    level=Level.WARNING,
    effect=Effect.NO_KERNEL,
    summary="A clamp stands behind a change of scale.",
    docs=__doc__,
    bad=Example(_MODEL.replace("SCALE", "0.2")),
    good=Example(_MODEL.replace("SCALE", "0.1")),
    kinds=(Cause.CLAMP_SCALE.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    wanted = {
        layer.node.inputs[0]: layer.output
        for layer in records
        if layer.output is not None and layer.code == "requantize"
    }
    if not wanted:
        return "Leave the clamp out, or quantize its result with a separate QuantizeLinear."
    return advice(graph, "Give the tensor in front the scale and zero-point of its result", overrides(wanted))


run = QuantizationCheck(RULE.kinds, _remedy)
