"""Loops of depthwise convolutions for f32 and f16."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.float.counted_loops import FloatLoops, beside
from onnxlint_cmsis.cmsis_nn.loops.plane import up


def channels_3x3(loops: FloatLoops) -> None:
    """Count the kernel of 3x3 taps."""
    size, plane = loops.sizes, loops.sizes.plane
    pixels = size.n * size.pixels
    name = "dw_3x3_valid" if f"depthwise_conv3x3_nhwc_valid_{loops.kind.name}" in loops.taken.chain else "dw_3x3"
    loops.add(name, 1, image=size.n, row=size.n * size.out_h, pixel=pixels)
    loops.begun(name, pixels, size.in_c)
    loops.add(name, 0, filter_row=size.n * plane.h.inside * size.out_w)
    loops.elements(f"{name}.tap", size.n * plane.inside, size.in_c)
    loops.elements(f"{name}.clamp", pixels, size.in_c)


def channels_k3(loops: FloatLoops) -> None:
    """Count the kernel of one row with 3 taps."""
    size = loops.sizes
    loops.add("dw_k3", 1, column=size.out_w)
    loops.elements(f"dw_k3.{'biased' if loops.call.bias else 'unbiased'}", size.out_w, size.in_c)
    loops.elements("clamp", 1, size.out_w * size.in_c)


def channels_2x5(loops: FloatLoops) -> None:
    """Count the kernel of 2x5 taps."""
    size = loops.sizes
    channels = size.n * size.out_w * size.in_c
    loops.add("dw_2x5", 1, column=size.n * size.out_w, channel=channels, k=channels * loops.vectors(size.ch_mult))


def channels_tiled(loops: FloatLoops) -> None:
    """Windows of up to four columns of a row are gathered, then multiplied channel by channel."""
    size, plane = loops.sizes, loops.sizes.plane
    most = min(4, loops.windows(size.taps))
    pixels, rows = size.n * size.pixels, size.n * size.out_h
    loops.add("dw_tiles", 1, image=size.n, row=rows, pixel=pixels, filter_row=pixels * size.filter_h)
    high = size.n * plane.h.inside * size.out_w
    loops.add("dw_tiles", 0, row_inside=high, tap_inside=high * size.filter_w, single=pixels * (size.filter_w == 1))
    loops.moved("dw_tiles.copy", size.n * plane.inside, size.in_c)
    loops.moved("dw_tiles.fill", pixels * size.taps - size.n * plane.inside, size.in_c)
    whole, rest = divmod(size.out_w, most)
    for columns, times in ((most, rows * whole), (rest, rows)):
        if not columns:
            continue
        loops.add("dw_nt_t", times)
        if not loops.mve:
            outputs = times * columns * size.in_c
            loops.add("dw_nt_t", 0, row=times * columns, k=outputs * size.taps)
            loops.started("dw_nt_t", outputs)
            continue
        name = f"dw_nt_t.of_{columns}"
        whole_blocks, part = size.in_c // loops.lanes, 1 * (size.in_c % loops.lanes > 0)
        loops.add(name, times)
        for word, blocks in (("whole", whole_blocks), ("part", part)):
            loops.started(f"{name}.{word}", times * blocks)
            loops.add(f"{name}.{word}", 0, k=times * blocks * size.taps, single=times * blocks * (size.taps == 1))
            loops.add(f"{name}.{word}", 0, enter=times * (blocks > 0))


def channels_fast(loops: FloatLoops) -> None:
    """Code for f32 has a loop for windows that lie wholly on the input, and copies for those around them."""
    size, plane = loops.sizes, loops.sizes.plane
    height = size.in_h, size.out_h, size.filter_h, size.stride_h, size.pad_h
    width = size.in_w, size.out_w, size.filter_w, size.stride_w, size.pad_w
    split = 1 * (loops.kind.bytes == 4)
    (above, taps_above), (left, taps_left) = _early(*height), _early(*width)
    before, behind = beside(size.in_w, size.out_w, (size.filter_w, size.stride_w, size.pad_w, 1))
    before_h, behind_h = beside(size.in_h, size.out_h, (size.filter_h, size.stride_h, size.pad_h, 1))
    above, taps_above, columns = split * above, split * taps_above, split * plane.w.whole
    rows = plane.h.whole * (columns > 0)
    loops.add("dw_fast", 1, image=size.n, row=size.n * size.out_h, split=size.n * rows)
    for axis, (outputs, first, whole) in {
        "h": (size.out_h, above, plane.h.whole),
        "w": (size.out_w, left, plane.w.whole),
    }.items():
        last = outputs - first - whole
        loops.add(f"dw_fast.{axis}", 0, first=split * first, last=split * last, rest=split * (last > 0))
    loops.add("dw_fast", 0, above_first=size.n * (above > 0), from_first=size.n * split * (size.out_h > above))
    inside, below = rows * size.filter_h, plane.h.inside - taps_above - rows * size.filter_h
    right, taps_right = size.out_w - left - columns, plane.w.inside - taps_left - columns * size.filter_w
    inner = columns * size.filter_w
    parts = {
        "above": (above, size.out_w, taps_above, plane.w.inside, before + behind),
        "left": (rows, left, inside, taps_left, before),
        "inner": (rows, columns, inside, inner, 0),
        "right": (rows, right, inside, taps_right, behind),
        "below": (size.out_h - above - rows, size.out_w, below, plane.w.inside, before + behind),
    }
    for word, (lines, pixels, filter_rows, taps, missed) in parts.items():
        name, every = f"dw_fast.{word}", size.n * lines * pixels
        loops.add(name, every, row=size.n * lines * (pixels > 0), filter_row=size.n * filter_rows * pixels)
        loops.add(name, 0, no_tap=size.n * filter_rows * missed)
        loops.begun(name, every, size.in_c)
        loops.elements(f"{name}.tap", size.n * filter_rows * taps, size.in_c)
        loops.elements(f"{name}.clamp", every, size.in_c)
    for word, outside in (("above", split * before_h), ("below", (1 - split) * before_h + behind_h)):
        loops.add(f"dw_fast.{word}", 0, no_row=size.n * outside * size.out_w)


def _early(inputs: int, outputs: int, taps: int, stride: int, pad: int) -> tuple[int, int]:
    """Windows along an axis that begin in the padding, and how many of their taps lie on the input."""
    windows = min(outputs, up(pad, stride))
    starts = (index * stride - pad for index in range(windows))
    return windows, sum(max(0, min(taps, inputs - start) + start) for start in starts)


def channels_generic(loops: FloatLoops) -> None:
    """Count the kernel that takes any depthwise convolution."""
    size, plane = loops.sizes, loops.sizes.plane
    outputs = size.n * size.pixels * size.out_c
    loops.add("dw_generic", 1, row=size.n * size.out_h, pixel=size.n * size.pixels)
    loops.add("dw_generic", 0, first=outputs * (loops.software and not loops.call.bias))
    loops.add("dw_generic", 0, channel=size.n * size.pixels * size.in_c, output=outputs)
    loops.add("dw_generic", 0, dilated_h=outputs * (size.dilation_h > 1), dilated_w=outputs * (size.dilation_w > 1))
    loops.add("dw_generic", 0, filter_row=size.n * plane.h.inside * size.out_w * size.out_c)
    loops.add("dw_generic", 0, tap=size.n * plane.inside * size.out_c)
    loops.missed("dw_generic", size.out_c)


def channels_as_convolution(loops: FloatLoops) -> None:
    """Count a depthwise convolution that runs as a packed one."""
    size, block = loops.sizes, loops.kind.block
    whole, rest = divmod(size.out_c, block)
    filter_bytes = up(loops.taken.seen.get("output_dims.c") or 0, block) * block * size.taps * loops.kind.bytes
    rows = (loops.buffer - filter_bytes) // (size.taps * loops.kind.bytes)
    pixels = size.n * size.pixels
    loops.add("to_conv", 1, image=size.n, block=whole, block_tap=whole * size.taps)
    for some in range(1, block):
        loops.add(f"to_conv.rest_{some}", 1 * (rest == some), tap=(rest == some) * size.taps)
    name = "to_conv.dilated" if size.dilation_w > 1 else "to_conv.window"
    inside_rows = size.n * size.plane.h.inside * size.out_w
    loops.add(name, pixels, row_inside=inside_rows, tap=inside_rows * size.filter_w, inside=size.n * size.plane.inside)
    loops.blocks(f"{name}.fill", pixels * size.filter_h - inside_rows, size.filter_w)
    for times, tile in ((size.pixels // rows, rows), (1, size.pixels % rows)):
        if times and tile:
            loops.add("to_conv.tile", size.n * times)
            loops.packed_product(size.n * times, tile, size.out_c, size.taps)
