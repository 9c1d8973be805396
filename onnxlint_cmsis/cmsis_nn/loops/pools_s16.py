"""Loops of pooling in 16 bits (7.0.0: PoolingFunctions/arm_avgpool_s16.c and arm_max_pool_s16.c)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.memory import library_block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def avgpool_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """Scalar goes channel by channel, dsp adds whole pixels in a buffer, MVE takes 8 channels at a time."""
    plane, images, pixels = sizes.plane, sizes.n, sizes.n * sizes.pixels
    rows, taps = images * plane.h.inside * sizes.out_w, images * plane.inside
    counts = {"avg_s16": 1, "avg_s16.image": images, "avg_s16.row": images * sizes.out_h, "avg_s16.pixel": pixels}
    if isa is Isa.DSP:
        more = taps - pixels
        return counts | {
            "avg_s16.filter_row": rows,
            "avg_s16.value": pixels * sizes.in_c,
            "avg_s16.more": more,
            "avg_s16.more.channel": more * sizes.in_c,
        }
    lanes = sizes.in_c if isa is Isa.SCALAR else up(sizes.in_c, 8)
    return counts | {
        "avg_s16.lane": pixels * lanes,
        "avg_s16.filter_row": rows * lanes,
        "avg_s16.tap": taps * lanes,
    }


def max_pool_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """The first tap of a window is copied, the others compared; all outputs of an image are clamped at the end."""
    plane, images, pixels = sizes.plane, sizes.n, sizes.n * sizes.pixels
    more = images * plane.inside - pixels
    counts = {
        "max_s16": 1,
        "max_s16.image": images,
        "max_s16.row": images * sizes.out_h,
        "max_s16.pixel": pixels,
        "max_s16.filter_row": images * plane.h.inside * sizes.out_w,
        "max_s16.more": more,
    }
    add(counts, library_block("max_s16.copy", pixels, 2 * sizes.in_c))
    outputs = sizes.pixels * sizes.in_c
    for name, times, length in (("max_s16.more", more, sizes.in_c), ("max_s16.clamp", images, outputs)):
        if isa is Isa.MVE:
            counts[f"{name}.vector"] = times * up(length, 8)
        else:
            counts[f"{name}.two"] = times * (length // 2)
            counts[f"{name}.two.enter"] = times * (length > 1)
            counts[f"{name}.odd"] = times * (length % 2)
    return counts
