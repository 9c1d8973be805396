"""Loops of pools for f32 and f16."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.float.counted_loops import FloatLoops
from onnxlint_cmsis.ground.types import Function


def pool(loops: FloatLoops) -> None:
    """Count an average or a max pool."""
    size, plane = loops.sizes, loops.sizes.plane
    name = "avg" if loops.call.function is Function.AVERAGE_POOL else "max"
    kernel = loops.taken.kernel.removeprefix("arm_nn_").rpartition("_")[0]
    if kernel.startswith("maxpool1d"):
        loops.add(kernel, 1, image=size.n)
        loops.elements(f"{kernel}.column", size.n * size.out_w, size.in_c)
        if kernel == "maxpool1d_k2s2_nhwc":
            loops.elements(f"{kernel}.clamp", size.n, size.out_w * size.in_c)
        return
    turns = loops.vectors(size.in_c)
    every = size.n * size.pixels
    row = 1 * (size.in_h == size.filter_h == 1)
    follow = row * (size.stride_w == size.filter_w)
    loops.add(name, 0, row=row, follow_2=follow * (size.filter_w == 2), follow_3=follow * (size.filter_w == 3))
    loops.add(name, 1, image=size.n, out_row=size.n * size.out_h, pixel=every, channel=every * turns)
    loops.missed(name, turns)
    whole = plane.inside == size.pixels * size.taps
    loops.add(name, 0, power_of_2=every * turns * (whole and size.taps.bit_count() == 1) * loops.software)
    loops.add(name, 0, filter_row=size.n * plane.h.inside * size.out_w * turns, tap=size.n * plane.inside * turns)
