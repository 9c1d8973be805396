"""An int16 layer adds more than 512 products at a time.

The s16 kernels add 512 products in 32 bits and all further ones one by one in 64 bits, without SIMD: arm_convolve_s16
from 6.0.0 on (arm_nn_mat_mult_kernel_s16.c, arm_nn_mat_mult_nt_t_s16.c) with a 64-bit bias, and
arm_fully_connected_s16 on cores with DSP or MVE (arm_nn_vec_mat_mult_t_s16.c). Until 5.0.0 see CNN104. With
`is_int32_bias` a convolution adds all of them in 32 bits, which is faster and may overflow: CNN515, CNN402[sums].

**What to do.** Split the layer, give the convolution fewer input channels or a smaller window, or compute it in int8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.cmsis_nn.library import SHORT, adds_in_blocks
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Function, Level

_MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
g (int16[1, COLUMNS] x) => (int16[1, 4] y)
<float s = {0.1}, int16 z = {0}, int8[COLUMNS, 4] w = {1}, int8 wz = {0}> {
    a = DequantizeLinear(x, s, z)
    b = DequantizeLinear(w, s, wz)
    c = MatMul(a, b)
    y = QuantizeLinear(c, s, z)
}
"""

RULE = Rule(
    code="CNN516",
    name="long-sums-s16",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="An int16 layer adds more than 512 products at a time.",
    docs=__doc__,
    bad=Example(_MODEL.replace("COLUMNS", "520")),
    good=Example(_MODEL.replace("COLUMNS", "512")),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for a layer whose sums go on in 64 bits."""
    call = subject.layer.call
    columns = _columns(subject)
    if columns is None or columns <= SHORT or not subject.route.kernel or not adds_in_blocks(call, subject.target):
        return
    slow = columns - SHORT
    text = f"{columns:,} products make one sum; {subject.route.effective} adds {slow:,} of them one by one in 64 bits."
    yield replace(subject.say(text), group=subject.route.effective)


def _columns(subject: Subject) -> int | None:
    """Products of one sum; None for layers of another kind, and where a size is unknown."""
    call = subject.layer.call
    if call.types != "s16":
        return None
    if call.function is Function.FULLY_CONNECTED:
        return call.filter_dims.n
    height, width, channels = call.filter_dims.h, call.filter_dims.w, call.input_dims.c
    if call.function is not Function.CONVOLVE or height is None or width is None or channels is None:
        return None
    return height * width * channels
