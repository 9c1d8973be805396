"""Loops of pooling (PoolingFunctions/arm_avgpool_s8.c and arm_max_pool_s8.c)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.memory import block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def avgpool_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """Scalar goes channel by channel and looks at every tap, dsp adds whole pixels, MVE takes 16 channels at a time."""
    plane = sizes.plane
    rows = plane.h.inside * sizes.out_w
    counts = {"avgpool": 1, "avgpool.row": sizes.out_h, "avgpool.pixel": sizes.pixels}
    if isa is Isa.DSP:
        more = plane.inside - sizes.pixels
        return {
            **counts,
            "avgpool.filter_row": rows,
            "avgpool.first": sizes.pixels * sizes.in_c,
            "avgpool.more": more,
            "avgpool.more.channel": more * sizes.in_c,
            "avgpool.scale.odd": sizes.pixels * (sizes.in_c % 2),
        }
    lanes = sizes.in_c if isa is Isa.SCALAR else up(sizes.in_c, 16)
    counts |= {
        "avgpool.lane": sizes.pixels * lanes,
        "avgpool.filter_row": rows * lanes,
        "avgpool.tap": plane.inside * lanes,
    }
    if isa is Isa.SCALAR:
        for side, outside in (("above", plane.h.before), ("below", plane.h.after)):
            counts[f"avgpool.filter_row.{side}"] = outside * sizes.out_w * lanes
            counts[f"avgpool.tap.{side}"] = outside * sizes.out_w * sizes.filter_w * lanes
        counts["avgpool.tap.left"] = plane.h.inside * plane.w.before * lanes
        counts["avgpool.tap.right"] = plane.h.inside * plane.w.after * lanes
    return counts


def max_pool_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """The first tap of a window is copied, the others compared; all outputs are clamped at the end."""
    plane, outputs = sizes.plane, sizes.pixels * sizes.in_c
    more = plane.inside - sizes.pixels
    counts = {
        "max_pool": 1,
        "max_pool.row": sizes.out_h,
        "max_pool.pixel": sizes.pixels,
        "max_pool.filter_row": plane.h.inside * sizes.out_w,
        "max_pool.more": more,
    }
    add(counts, block(isa, "max_pool.copy", sizes.pixels, sizes.in_c))
    for name, times, length in (("max_pool.more", more, sizes.in_c), ("max_pool.clamp", 1, outputs)):
        if isa is Isa.MVE:
            counts[f"{name}.vector"] = times * up(length, 16)
        else:
            counts[f"{name}.four"] = times * (length // 4)
            counts[f"{name}.four.enter"] = times * (length >= 4)
            counts[f"{name}.single"] = times * (length % 4)
            counts[f"{name}.single.enter"] = times * (length % 4 > 0)
    return counts
