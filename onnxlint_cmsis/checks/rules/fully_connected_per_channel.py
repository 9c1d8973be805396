"""Per-channel fully connected weights have no kernel in the release.

`arm_fully_connected_per_channel_s8` exists from 7.0.0 on. Earlier releases have one multiplier and shift for all
outputs.

**What to do.** Use 7.0.0 or later, or quantize the layer's weights per tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Function, Level
from onnxlint_cmsis.lower.decision import Cause

RULE = Rule(
    code="CNN131",
    name="fully-connected-per-channel",
    level=Level.NOTE,
    effect=Effect.REFERENCE,
    summary="Per-channel fully connected weights have no kernel in the release.",
    docs=__doc__,
    bad=Example(
        """
g (int8[1, 3] x) => (int8[1, 5] y)
<float s = {0.1}, int8 z = {0}, int8[3, 5] w = {1}, float[5] ws = {1}, int8[5] wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear<axis = 1>(w, ws, wz)
    c = MatMul(a, b)
    y = QuantizeLinear(c, s, z)
}
""",
        options="--release 6.0.0",
    ),
    good=Example(
        """
g (int8[1, 3] x) => (int8[1, 5] y)
<float s = {0.1}, int8 z = {0}, int8[3, 5] w = {1}, float[5] ws = {1}, int8[5] wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear<axis = 1>(w, ws, wz)
    c = MatMul(a, b)
    y = QuantizeLinear(c, s, z)
}
""",
        options="--release 7.0.0",
    ),
    kinds=(Cause.NO_PER_CHANNEL.value,),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for a per-channel layer that would run a per-tensor kernel."""
    call = subject.layer.call
    if call.function is Function.FULLY_CONNECTED and call.per_channel and subject.route.reason:
        text = f"reference code computes it ({call.output_dims.c} weight scales): {subject.route.reason}."
        said = replace(subject.say(text), sources=subject.entry_sources(), group=subject.route.reason)
        yield replace(said, remedy="Use CMSIS-NN 7.0.0 or later, or quantize its weights per tensor.")
