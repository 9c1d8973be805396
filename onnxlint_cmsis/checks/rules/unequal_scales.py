"""Input and output have different scales where a function copies integers.

`cmsis_nn_pool_params` has no scales: arm_avgpool_s8 and arm_max_pool_s8 give out integers of the scale that they
read, and so do arm_concatenation_s8_[wxyz], arm_pad_s8, arm_transpose_s8, arm_maximum_s8 and arm_minimum_s8. Where
input and output have different scales or zero-points, the numbers would be wrong; plain code that changes the scale
has to run instead. A QuantizeLinear of what has another scale already is such a change, too.

**What to do.** Give input and output one scale and zero-point: the output of a pool, Pad or Transpose that of its
input, the inputs of a Concat that of its output. With ONNX Runtime's quantizer (tried with 1.31.1):
`extra_options={"TensorQuantOverrides": {"name": [{"scale": np.array(..., np.float32), "zero_point": np.array(...,
np.int8)}]}}`, with tensors' names in the float model.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.checks.quantization_check import QuantizationCheck
from onnxlint_cmsis.checks.quantizer import advice, overrides
from onnxlint_cmsis.checks.rule import Example, Rule, RuleScope
from onnxlint_cmsis.graph.model import Graph
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import activations_of
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.verdict import Cause
from onnxlint_cmsis.types import Level

JOINING = ("concatenation", "maximum", "minimum")
"""Entry points whose inputs take the scale of the output: it covers all of them."""

_MODEL = """
g (int8[1, 16, 8, 8] x) => (int8[1, 16, 1, 1] y)
<float s = {0.1}, int8 z = {0}, float t = {SCALE}> {
    a = DequantizeLinear(x, s, z)
    b = GlobalAveragePool(a)
    y = QuantizeLinear(b, t, z)
}
"""

RULE = Rule(
    code="CNN510",
    name="unequal-scales",
    level=Level.WARNING,
    scope=RuleScope.MODEL,
    summary="Input and output have different scales where a function copies integers.",
    docs=__doc__,
    bad=Example(_MODEL.replace("SCALE", "0.05")),
    good=Example(_MODEL.replace("SCALE", "0.1")),
    kinds=(Cause.UNEQUAL_SCALES.value,),
)


def _remedy(graph: Graph, records: Sequence[LoweredLayer]) -> str:
    wanted: dict[str, AffineQuantization] = {}
    for record in records:
        wanted.update(_equal(record))
    if not wanted:
        return "Give both one scale and zero-point."
    where = "inputs that of its output" if _joins(records[0]) else "output that of its input"
    return advice(graph, f"Give them one scale and zero-point, its {where}", overrides(wanted))


def _equal(record: LoweredLayer) -> dict[str, AffineQuantization]:
    """Tensors that would have to change, with their new numbers."""
    node, result, source = record.node, record.output, record.inputs[0] if record.inputs else None
    if result is None or source is None:
        return {}
    if not _joins(record):
        return {node.outputs[0]: source}
    places = zip(activations_of(node), record.inputs, strict=False)
    return {node.inputs[place]: result for place, each in places if each is None or not each.equals(result)}


def _joins(record: LoweredLayer) -> bool:
    return record.layer is not None and record.layer.call.entry.startswith(JOINING)


run = QuantizationCheck(RULE.kinds, _remedy)
