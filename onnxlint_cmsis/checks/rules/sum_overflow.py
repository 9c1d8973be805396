"""A layer's sums can overflow for some input.

The s8 kernels add products in int32, and shift the sum to the left where the multiplier is 1 or more. A sum that
leaves 32 bits wraps around, with status SUCCESS. The bound is exact: some integers of the input's type reach it,
whether the model ever sees them or not. Builds with CMSIS_NN_USE_SINGLE_ROUNDING, which are not judged, wrap around
at half of it where the multiplier is 1 or more (7.0.0: arm_nn_requantize, arm_requantize_mve).

The s16 kernels add 512 products in 32 bits, which fit unless all weights are -128 and all inputs -32768, and those
behind them and a bias of 64 bits in 64. But arm_convolve_s16 of 6.0.0 and later adds all in 32 bits in the last of an
odd number of output pixels without MVE, and everywhere with `is_int32_bias`, which a caller may set also where there
is no bias. What TensorFlow Lite Micro makes of int16 convolutions is CNN402[sums].

Mostly the bias is too large, in a channel whose weights and scale are tiny. The rule reads weights in files up to
`size-checks-limit`, and not with `weights = false`.

**What to do.** Give the channel's weights a larger scale, or remove the channel where its weights are all zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.cmsis_nn.library import products_in_32_bits
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.sums import SumBound, overflow_of

REMEDY = "Give its weights a larger scale, or its bias a smaller value."

_MODEL = """
g (int8[1, 4, 8, 8] x) => (int8[1, 4, 8, 8] y)
<float s = {0.1}, int8 z = {0}, int8[4, 4, 1, 1] w = {127}, float u = {0.001}, int32[4] v = {BIAS}, float t = {0.0001},
 int32 k = {0}, float o = {3000}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, u, z)
    d = DequantizeLinear(v, t, k)
    c = Conv(a, b, d)
    y = QuantizeLinear(c, o, z)
}
"""

RULE = Rule(
    code="CNN515",
    name="sum-overflow",
    level=Level.WARNING,
    effect=Effect.MAY_FAIL,
    summary="A layer's sums can overflow for some input.",
    docs=__doc__,
    bad=Example(_MODEL.replace("BIAS", "2147483000")),
    good=Example(_MODEL.replace("BIAS", "2147400000")),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each layer whose sums leave 32 bits for some input."""
    bounds: dict[tuple[int, int], SumBound | None] = {}
    for layer in subject.layers():
        index = layer.layer.node.index
        if layer.layer.assumed or not layer.route.kernel:
            continue
        key = index, products_in_32_bits(layer.layer.call, layer.target)
        if key not in bounds:
            record = subject.lowered.by_index[index]
            bounds[key] = overflow_of(subject.model.graph, record, subject.model.read_allowed, key[1])
        bound = bounds[key]
        if bound is not None:
            yield replace(layer.say(f"{bound.text}."), targets=(layer.target.label,), remedy=REMEDY)
