"""Kernels that hand the work on, and the static functions that do it inside."""

from __future__ import annotations

from functools import cache

from onnxlint_cmsis.cmsis_nn.apis import FLOAT, Api, api_of
from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, IN, NARROW_OUTPUT, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE, Delegation, kernel_at
from onnxlint_cmsis.ground.types import Isa

_TILE_5_8 = all_of(equal(CH_MULT % 4, 0), equal(IN.n, 1))


def _row(
    callee: str,
    kernel: str,
    lines: dict[str, int],
    isas: tuple[Isa, ...] = ALL_ISAS,
    when: Condition = TRUE,
) -> Delegation:
    return Delegation(kernel, callee, kernel_at(kernel, lines, isas), when)


def _tile(callee: str, lines: dict[str, int], when: Condition = TRUE, until: str = "") -> Delegation:
    kernel = "arm_depthwise_conv_s8"
    origin = kernel_at(kernel, lines, until=until)
    return Delegation(kernel, callee, origin, when, static=True)


_1_X_N_LINES = {V5_8: 70, V5_9: 70, "4.0.0": 71, "4.1.0": 72, "5.0.0": 72, "6.0.0": 69, "7.0.0": 69, "main": 69}
_OPT_LINES = {V5_8: 72, V5_9: 77, "4.0.0": 77, **dict.fromkeys(("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 76)}
_TILE_LINES = {V5_9: 265, **dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 291)}
_FAST_S16_LINES = dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main"), 82)

DELEGATIONS = (
    _row("arm_convolve_s8", "arm_convolve_1_x_n_s8", _1_X_N_LINES, NOT_MVE),
    _row("arm_convolve_s8", "arm_convolve_1_x_n_s8", {"6.0.0": 99, "7.0.0": 99, "main": 99}, MVE_ONLY, NARROW_OUTPUT),
    _row("arm_convolve_s4", "arm_convolve_1_x_n_s4", {"6.0.0": 71, "7.0.0": 71, "main": 70}, NOT_MVE),
    _row("arm_depthwise_conv_s8", "arm_depthwise_conv_s8_opt", _OPT_LINES, (Isa.SCALAR,)),
    _row("arm_depthwise_conv_s16", "arm_depthwise_conv_fast_s16", _FAST_S16_LINES, (Isa.SCALAR,)),
    _tile("depthwise_conv_s8_mult_4", {V5_8: 229}, _TILE_5_8, V5_9),
    _tile("depthwise_conv_s8_mult_4", _TILE_LINES, all_of(_TILE_5_8, UNIT_DILATION)),
    _tile("depthwise_conv_s8_generic", {V5_8: 229, **_TILE_LINES}),
)
"""In source order; the first that matches is the one taken. Those of f32 and f16 stand in their own files."""


@cache
def delegations(api: Api) -> tuple[Delegation, ...]:
    """The rows of an API."""
    if api is not FLOAT:
        return DELEGATIONS
    from onnxlint_cmsis.cmsis_nn.float import convolution, depthwise, products

    return (*convolution.CONVOLUTION_DELEGATIONS, *depthwise.DEPTHWISE_DELEGATIONS, *products.PRODUCT_DELEGATIONS)


@cache
def delegations_of(kernel: str, release: str, isa: Isa) -> tuple[Delegation, ...]:
    """The rows of one kernel in one build, in order."""
    return tuple(
        row
        for row in delegations(api_of(kernel))
        if row.kernel == kernel and row.origin.spans(release) and isa in row.origin.isas
    )
