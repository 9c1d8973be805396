"""Transposed convolutions: route, scratch, hazards, cost."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import (
    COLS,
    FILTER_H,
    FILTER_N,
    FILTER_W,
    IN_C,
    IN_H,
    IN_W,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
    TAPS,
    TRUE,
    all_of,
    any_of,
    at_most,
    greater,
    less,
    maximum,
    named,
    round_up,
    term,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.integer.convolution import columns_by_two, convolve_s8, rows_by_four
from onnxlint_cmsis.cmsis_nn.loops import Counts, LoopSizes, add, block, by_rest, up, widen
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, RETRAIN, Branch, Hazard, Wrapper, kernel_at, size, within
from onnxlint_cmsis.ground.types import Isa

# Scratch sizes of transposed convolution, with its second context.


REVERSED = all_of(at_most(STRIDE_W, 2), at_most(STRIDE_H, 2), greater(IN_C, 16))
"""arm_transpose_conv_wrapper_s8.c:69-71 with REVERSE_TCOL_EFFICIENT_THRESHOLD (7.0.0:77, main:78)."""

_SIZE = "arm_transpose_conv_s8_get_buffer_size"
_SCRATCH_REVERSE = "arm_transpose_conv_s8_get_reverse_conv_buffer_size"
_RING_WIDTH = (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_H)

TRANSPOSE_CONV_S8 = (
    size(4 * TAPS * IN_H * IN_W * OUT_C, within(_SIZE, "5.0.0", until="7.0.0")),
    size(4 * round_up(COLS, 4), within(_SIZE, "7.0.0", NOT_MVE), REVERSED),
    size(4 * round_up(COLS, 16), within(_SIZE, "7.0.0", MVE_ONLY), REVERSED),
    size(4 * OUT_C * _RING_WIDTH * maximum(FILTER_H, STRIDE_H), within(_SIZE, "7.0.0")),
)

TRANSPOSE_CONV_REVERSE = (
    size(4 * OUT_H * OUT_W * OUT_C, within("arm_transpose_conv_s8", "5.0.0", until="7.0.0")),
    size(IN_C * TAPS * FILTER_N, within(_SCRATCH_REVERSE, "7.0.0"), REVERSED),
    size(0, within(_SCRATCH_REVERSE, "7.0.0")),
)
"""Bytes of `output_ctx` up to 6.0.0, which no function answers, and of `reverse_conv_ctx` from 7.0.0 on."""


# arm_transpose_conv_wrapper_s8: convolution with reversed weights, or the direct kernel.


_FUNCTION = "arm_transpose_conv_wrapper_s8"

_UPSCALED = (
    ("input_dims.h", IN_H * STRIDE_H),
    ("input_dims.w", IN_W * STRIDE_W),
    ("padding.h", FILTER_H - 1 - PAD_H),
    ("padding.w", FILTER_W - 1 - PAD_W),
    ("stride.h", term(1)),
    ("stride.w", term(1)),
    ("dilation.h", term(1)),
    ("dilation.w", term(1)),
)

TRANSPOSE_CONV_S8_ROUTE = Wrapper(
    entry="transpose_conv_s8",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_transpose_conv_s8",
            TRUE,
            kernel_at("arm_transpose_conv_s8", {"5.0.0": 49, "6.0.0": 49}, until="7.0.0"),
        ),
        Branch("arm_convolve_s8", REVERSED, kernel_at(_FUNCTION, {"7.0.0": 73, "main": 73}), binds=_UPSCALED),
        Branch("arm_transpose_conv_s8", TRUE, kernel_at(_FUNCTION, {"7.0.0": 141, "main": 141})),
    ),
    sizes=TRANSPOSE_CONV_S8,
    reverse_sizes=TRANSPOSE_CONV_REVERSE,
    params="transpose_conv_params",
    absent="transposed convolution came with 5.0.0",
)


# The direct transposed-convolution kernel: wrong rows, rows past the output, scratch too small.


_KERNEL = "arm_transpose_conv_s8"
_HAZARDS_REVERSE = (
    "Give it 17 or more input channels with strides of at most 2: convolution with reversed weights is right. Channels "
    f"of zeros change nothing, another stride {RETRAIN}."
)

# 7.0.0 writes stride.h rows for each input row from the first whose top padding is used up.
_ROWS_7_0 = named("rows_written", (IN_H - (PAD_H + STRIDE_H - 1) // STRIDE_H) * STRIDE_H)
_ROWS_MAIN = named("rows_written", IN_H * STRIDE_H - PAD_H)


_ENTRY = ("transpose_conv_s8",)
_PAST_OUTPUT = "The direct kernel writes more rows than the output has; with several images the next one is wrong too."

TRANSPOSE_CONV_HAZARDS = (
    Hazard(
        id="tconv-padding-not-in-strides",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=unequal(PAD_H % STRIDE_H, 0),
        reported="issue 230, fixed by pull request 233",
        brief="writes rows from the wrong place",
        what="The direct kernel writes rows from the wrong place of its ring buffer unless stride.h divides padding.h: "
        "status SUCCESS, nearly every value wrong.",
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-rows-past-output",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=greater(_ROWS_7_0, OUT_H),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-rows-past-output-main",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"main": 147}),
        when=greater(_ROWS_MAIN, OUT_H),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-padding-above-input",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 219, "main": 147}),
        when=less(IN_H * STRIDE_H, PAD_H),
        brief="gives wrong values",
        what="The padding is more than the rows that the input spreads to; the direct kernel's values are wrong.",
    ),
    Hazard(
        id="tconv-output-past-rows",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 91, "main": 91}),
        when=any_of(
            greater(OUT_H + PAD_H, (IN_H - 1) * STRIDE_H + maximum(FILTER_H, STRIDE_H)),
            greater(OUT_W + PAD_W, (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_W)),
        ),
        brief="reads columns past its row buffer and leaves rows unwritten",
        what="The output is larger than the input and the filter spread to, as with output_padding above the padding "
        "at the end: the direct kernel reads past its row buffer and never writes the last rows, status SUCCESS.",
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-reversed-padding-past-filter",
        kind="wrong-result",
        entries=_ENTRY,
        of_kernels=("arm_convolve_s8",),
        origin=kernel_at(_FUNCTION, {"7.0.0": 94, "main": 94}),
        when=any_of(less(PAD_H, 0), less(PAD_W, 0)),
        brief="gives wrong values where the padding is the filter's size or more",
        what="The wrapper runs a convolution with a padding of filter - 1 - padding, which is negative where the "
        "padding is the filter's size or more: status SUCCESS, wrong values.",
        breach=TRUE,
        way_round=f"Choose a padding below the filter's size. This {RETRAIN}.",
    ),
    Hazard(
        id="tconv-scratch-too-small",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 48, "main": 48}),
        when=greater(STRIDE_W, maximum(FILTER_W, STRIDE_H)),
        reported="pull request 243",
        brief="writes past its scratch buffer",
        what="The size function reckons with stride.h where the kernel needs stride.w: the kernel writes past its "
        "scratch buffer.",
        way_round="Choose a stride along the width that is no greater than the kernel's width or the other stride. "
        f"This {RETRAIN}.",
    ),
)


# Transposed convolutions: how often the loops of both routes run.
#
# Sources: ConvolutionFunctions/arm_transpose_conv_wrapper_s8.c, arm_transpose_conv_s8.c and arm_convolve_s8.c,
# NNSupportFunctions/arm_nn_transpose_conv_row_s8_s32.c of 7.0.0 and main.


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
