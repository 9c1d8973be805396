"""Softmax's result has another scale or zero-point than CMSIS-NN gives it.

arm_softmax_s8 writes scale 1/256 and zero-point -128 (arm_nn_softmax_common_s8.c), arm_softmax_s16 1/32768 and 0,
arm_softmax_s8_s16 1/65536 and -32768, whatever the model says; ONNX Runtime's quantizer takes 1/255. TensorFlow Lite
Micro refuses such a model at the start, which is an error; reference code for it is a warning.

**What to do.** Give the result these numbers. ONNX Runtime: `extra_options={"TensorQuantOverrides": {"name of the
result": [{"scale": np.array(1 / 256, np.float32), "zero_point": np.array(-128, np.int8)}]}}`, with the tensor's name
in the float model.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.fix_actions import RESCALE
from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice, overrides
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.softmax import function_output
from onnxlint_cmsis.model.graph import Graph

_MODEL = """
g (int8[1, 16] x) => (int8[1, 16] y)
<float s = {0.1}, int8 z = {0}, float t = {SCALE}, int8 u = {-128}> {
    a = DequantizeLinear(x, s, z)
    b = Softmax<axis = 1>(a)
    y = QuantizeLinear(b, t, u)
}
"""

RULE = Rule(
    code="CNN509",
    name="softmax-scale",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Softmax's result has another scale or zero-point than CMSIS-NN gives it.",
    docs=__doc__,
    action=RESCALE,
    bad=Example(_MODEL.replace("SCALE", "0.00392157"), options="--runtime tflm"),
    good=Example(_MODEL.replace("SCALE", "0.00390625"), options="--runtime tflm"),
    kinds=(Cause.SOFTMAX_SCALE.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    outputs = {record.node.outputs[0]: fixed for record in records if (fixed := function_output(record))}
    option = overrides({name: exact for name, (exact, _) in outputs.items()})
    words: dict[str, None] = {}
    for exact, scale in outputs.values():
        lowest = exact.bits == 8
        zero = "the lowest integer as zero-point" if lowest else f"zero-point {(exact.zero_points or (0,))[0]}"
        words[f"scale {scale} and {zero}"] = None
    return advice(graph, f"Give its result {' or '.join(words)}", option)


run = QuantizationCheck(RULE.kinds, _remedy, always_warn=True)
