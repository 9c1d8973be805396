"""Loops of transposed convolutions by both routes.

Sources: ConvolutionFunctions/arm_transpose_conv_wrapper_s8.c, arm_transpose_conv_s8.c and arm_convolve_s8.c,
NNSupportFunctions/arm_nn_transpose_conv_row_s8_s32.c of 7.0.0 and main.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.convolve_s8 import columns_by_two, convolve_s8, rows_by_four
from onnxlint_cmsis.cmsis_nn.loops.memory import block, widen
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.ground.types import Isa


def reversed_convolution(sizes: LoopSizes, isa: Isa) -> Counts:
    """The weights reversed into a buffer, then arm_convolve_s8 over the input, upscaled with stride 2."""
    counts = {
        "reversed": 1,
        "reversed.channel": sizes.out_c,
        "reversed.filter_row": sizes.out_c * sizes.filter_h,
    }
    add(counts, block(isa, "reversed.filter", sizes.out_c * sizes.taps, sizes.in_c))
    seen = sizes._replace(
        in_h=sizes.in_h * sizes.stride_h,
        in_w=sizes.in_w * sizes.stride_w,
        pad_h=sizes.filter_h - 1 - sizes.pad_h,
        pad_w=sizes.filter_w - 1 - sizes.pad_w,
        stride_h=1,
        stride_w=1,
    )
    if sizes.stride_h == sizes.stride_w == 1:
        add(counts, convolve_s8(seen, isa))
    else:
        add(counts, _upscaled(seen, sizes.stride_h, sizes.stride_w, isa))
    return counts


def _upscaled(sizes: LoopSizes, factor_h: int, factor_w: int, isa: Isa) -> Counts:
    """Columns of windows over an upscaled input; every second row or column has values, the others are skipped."""
    images, pixels, depth = sizes.n, sizes.n * sizes.pixels, sizes.depth
    rows = copied_taps(sizes.out_h, sizes.filter_h, sizes.pad_h, sizes.in_h, factor_h)
    columns = copied_taps(sizes.out_w, sizes.filter_w, sizes.pad_w, sizes.in_w, factor_w)
    within = images * rows * sizes.out_w
    counts = {
        "upscaled": 1,
        "upscaled.image": images,
        "upscaled.row": images * sizes.out_h,
        "upscaled.pixel": pixels,
        "upscaled.filter_row": within,
        "upscaled.filter_row.skipped": images * (sizes.out_h * sizes.filter_h - rows) * sizes.out_w,
        "upscaled.tap.skipped": images * rows * (sizes.out_w * sizes.filter_w - columns),
    }
    add(counts, block(isa, "upscaled.fill", pixels, depth))
    add(counts, block(isa, "upscaled.copy", images * rows * columns, sizes.in_c))
    if isa is Isa.MVE:
        add(counts, rows_by_four(sizes))
    else:
        add(counts, widen("convolve_s8.widen", pixels, depth))
        columns_by_two(counts, sizes, isa)
    return counts


def copied_taps(outputs: int, size: int, padding: int, inputs: int, factor: int) -> int:
    """How many taps along one axis, over all output positions, fall on a value of the input."""
    positions = (output - padding + tap for output in range(outputs) for tap in range(size))
    return sum(0 <= position < inputs and position % factor == 0 for position in positions)


def direct(sizes: LoopSizes, isa: Isa) -> Counts:
    """Main: a row of the output leaves the buffer of sums as soon as no later row of the input adds to it."""
    return _direct(sizes, isa, max(0, sizes.in_h * sizes.stride_h - sizes.pad_h))


def direct_by_strides(sizes: LoopSizes, isa: Isa) -> Counts:
    """7.0.0: `stride_h` rows leave the buffer at a time, once a row of the input lies below the padding."""
    first = min(sizes.in_h, up(sizes.pad_h, sizes.stride_h))
    return _direct(sizes, isa, (sizes.in_h - first) * sizes.stride_h)


def _direct(sizes: LoopSizes, isa: Isa, flushed: int) -> Counts:
    """Every row of the input adds to a buffer of sums, as high as the filter."""
    columns = (sizes.in_w - 1) * sizes.stride_w + max(sizes.filter_w, sizes.stride_w)
    height = max(sizes.filter_h, sizes.stride_h)
    left = range(sizes.in_h * sizes.stride_h, sizes.in_h * sizes.stride_h + sizes.filter_h - sizes.stride_h)
    written = sum(sizes.pad_h <= row < sizes.pad_h + sizes.out_h for row in left)
    values = up(sizes.out_c, 4) if isa is Isa.MVE else sizes.out_c
    counts = {
        "transpose_conv": 1,
        "transpose_conv.image": sizes.n,
        "transpose_conv.row": sizes.n * sizes.in_h,
        "transpose_conv.flush": sizes.n * flushed,
        "transpose_conv.flush.pixel": sizes.n * flushed * sizes.out_w,
        "transpose_conv.flush.value": sizes.n * flushed * sizes.out_w * values,
        "transpose_conv.rest": sizes.n * len(left),
        "transpose_conv.rest.written": sizes.n * written,
        "transpose_conv.rest.pixel": sizes.n * written * sizes.out_w,
        "transpose_conv.rest.value": sizes.n * written * sizes.out_w * values,
    }
    add(counts, block(isa, "transpose_conv.reset", sizes.n * columns * (height + flushed), 4 * sizes.out_c))
    for name, turns, unrolled in (
        ("four", sizes.in_w // 4, 2),
        ("two", sizes.in_w % 4 // 2, 1),
        ("one", sizes.in_w % 2, 1),
    ):
        add(counts, _row_sums(sizes, isa, f"transpose_conv.{name}", turns, unrolled))
    return counts


def _row_sums(sizes: LoopSizes, isa: Isa, name: str, turns: int, unrolled: int) -> Counts:
    """The loops of arm_nn_transpose_conv_row_s8_s32 over groups of four, two or one input pixels of all rows."""
    groups = sizes.n * turns * sizes.out_c
    rows = groups * _filter_rows(sizes)
    taps, depth = rows * sizes.filter_w, sizes.in_c
    counts = {f"{name}.channel": groups * sizes.in_h, f"{name}.filter_row": rows, f"{name}.tap": taps}
    if isa is Isa.MVE:
        return counts | {f"{name}.vector": taps * up(depth, 16)}
    if isa is Isa.SCALAR:
        counts[f"{name}.depth"] = taps * (depth // unrolled)
        counts[f"{name}.depth.enter"] = taps * (depth >= unrolled)
        return counts | {f"{name}.odd": taps * (depth % unrolled)}
    counts[f"{name}.depth_4"] = taps * (depth // 4)
    counts[f"{name}.depth_4.enter"] = taps * (depth >= 4)
    return counts | dict(by_rest(name, taps, depth, 4)[1:])


def _filter_rows(sizes: LoopSizes) -> int:
    """Rows of the filter that meet the output, over all rows of the input of one image."""
    end = sizes.pad_h + sizes.out_h
    starts = range(0, sizes.in_h * sizes.stride_h, sizes.stride_h)
    skipped = (max(0, sizes.pad_h - start) + max(0, start + sizes.filter_h - end - 1) for start in starts)
    return sum(max(0, sizes.filter_h - rows) for rows in skipped)
