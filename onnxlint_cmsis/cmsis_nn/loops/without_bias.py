"""What a layer without a bias saves, from 7.0.0 on: no load for each output channel, and gcc's code for that branch.

A bias is read once for each output channel of a group of columns: two on scalar and dsp, four on MVE, one where a layer
is depthwise. The fits to layers with a bias do not tell what its loads cost, so that the pieces here may cost less than
nothing.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes
from onnxlint_cmsis.ground.types import Isa

WORD = ".no_bias"
"""In the name of each piece."""

KERNELS = frozenset(
    {
        *("arm_convolve_s8", "arm_convolve_1x1_s8_fast", "arm_convolve_1_x_n_s8", "arm_convolve_s16"),
        *("arm_convolve_1x1_s4_fast", "arm_convolve_even_s4", "arm_depthwise_conv_s4_opt", "arm_depthwise_conv_s16"),
        "arm_depthwise_conv_fast_s16",
        *("arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt", "depthwise_conv_s8_generic"),
        *("depthwise_conv_s8_mult_4", "arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"),
        *("arm_fully_connected_s16", "arm_fully_connected_s4"),
    }
)
"""Kernels whose layers without a bias are predicted to 2 % in 95 of 100; others get the number of one with a bias."""

NOT_ALIGNED = ("arm_depthwise_conv_s16",)
"""Those of them that are no better predicted so on a CPU that loads aligned words alone: to 2 % with a bias."""
TOGETHER = {Isa.SCALAR: 2, Isa.DSP: 2, Isa.MVE: 4}
"""Output columns that a product takes together; a depthwise layer takes each by itself."""


def without_bias(kernel: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Runs of the pieces that a layer without a bias has instead; none for a kernel that is not in KERNELS."""
    if kernel not in KERNELS or (sizes.aligned and kernel in NOT_ALIGNED):
        return {}
    name, images, columns, channels = f"{kernel}{WORD}", sizes.n, sizes.pixels, sizes.out_c
    groups, rest = (columns, 0) if "depthwise" in kernel else divmod(columns, TOGETHER[isa])
    return {
        name: 1,
        f"{name}.column": images * columns,
        f"{name}.group": images * groups * channels,
        f"{name}.group.two": images * groups * (channels // 2),
        f"{name}.group.four": images * groups * (channels // 4),
        f"{name}.rest": images * rest * channels,
        f"{name}.rest.two": images * rest * (channels // 2),
        f"{name}.rest.four": images * rest * (channels // 4),
    }
