"""Input and output have different scales where a function copies integers.

arm_avgpool_s8, arm_max_pool_s8, arm_concatenation_s8_[wxyz], arm_pad_s8, arm_transpose_s8, arm_maximum_s8 and
arm_minimum_s8 know no scales. Where scales or zero-points differ, reference code has to run; a QuantizeLinear between
integers is such code, too. It is a warning where it does much of a model's work. TensorFlow Lite Micro refuses pools
and concatenations of unequal scales at the start, which is an error.

**What to do.** Give input and output one scale and zero-point: that of the input of a pool, that of the output of a
Concat. The message has it for all tensors that such functions join. ONNX Runtime:
`extra_options={"TensorQuantOverrides": {"name": [{"scale": np.array(..., np.float32), "zero_point": np.array(...,
np.int8)}]}}`, with tensors' names in the float model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from onnxlint_cmsis.checks.fix_actions import RESCALE
from onnxlint_cmsis.checks.quantization_checks import QuantizationCheck
from onnxlint_cmsis.checks.quantizer_advice import advice, float_name, overrides
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.shared_scales import one_scale
from onnxlint_cmsis.lower.stored_types import MOVES
from onnxlint_cmsis.model.graph import Graph

WIDE = 16
"""Bits of activations that need zero-point 0 in other layers."""
SYMMETRIC = 'extra_options={"ActivationSymmetric": True}'
COPY = "move"
"""Kind of reference code that only copies elements."""

_MODEL = """
g (int8[1, 16, 8, 8] x) => (int8[1, 16, 4, 4] y)
<float s = {0.1}, int8 z = {0}, float t = {SCALE}> {
    a = DequantizeLinear(x, s, z)
    b = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(a)
    y = QuantizeLinear(b, t, z)
}
"""

RULE = Rule(
    code="CNN510",
    name="unequal-scales",
    level=Level.ERROR,
    effect=Effect.NO_KERNEL,
    summary="Input and output have different scales where a function copies integers.",
    docs=__doc__,
    action=RESCALE,
    bad=Example(_MODEL.replace("SCALE", "0.05"), options="--runtime tflm"),
    good=Example(_MODEL.replace("SCALE", "0.1"), options="--runtime tflm"),
    kinds=(Cause.UNEQUAL_SCALES.value,),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node; the first says what all tensors need that hang together."""
    return QuantizationCheck(RULE.kinds, partial(_remedy, subject.lowered))(subject)


def _remedy(lowered: Lowered, graph: Graph, records: Sequence[LoweredLayer]) -> str:
    wanted = one_scale(lowered.records, records, partial(_named, graph))
    for record in records:
        source = record.inputs[0] if record.inputs else None
        if record.layer is None and record.code == COPY and source is not None:
            wanted[float_name(record.node.outputs[0])] = source
    quantizers = [node for node in graph.nodes if operator_of(node).quantizes and len(node.inputs) > 1]
    scales = {float_name(node.inputs[0]): node.inputs[1] for node in reversed(quantizers)}
    for name, scale in scales.items():  # the quantizer before 1.28 gives what Flatten writes a scale apart
        front = _named(graph, name)
        if front in wanted and scales.get(front) != scale:
            wanted[name] = wanted[front]
    if not wanted:
        return "Give both one scale and zero-point."
    if any(numbers.bits == WIDE and any(numbers.zero_points or ()) for numbers in wanted.values()):
        return advice(graph, "Quantize int16 activations with zero-point 0 first", SYMMETRIC)
    return advice(graph, "Give what they read and write one scale and zero-point", overrides(wanted))


def _named(graph: Graph, tensor: str) -> str:
    """Float tensor whose scale the quantizer gives a tensor: for what only moves elements that in front of it."""
    while (producer := graph.producers.get(tensor)) is not None and producer.inputs:
        operator = operator_of(producer)
        if not (operator.quantizes or operator.dequantizes or operator.elements in MOVES):
            break
        tensor = producer.inputs[0]
    return float_name(tensor)
