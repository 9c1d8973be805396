"""Pooling, elementwise functions, softmax, pad, transpose and recurrent layers: hazards and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from pathlib import PurePosixPath

from onnxlint_cmsis.cmsis_nn.conditions import (
    CH_MULT,
    COLS,
    FILTER_H,
    FILTER_W,
    IN_C,
    IN_H,
    IN_N,
    IN_W,
    INITIAL_STATE,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_AFTER_H,
    PAD_AFTER_W,
    PAD_H,
    PAD_W,
    PERMUTATION,
    PERMUTED_AXES,
    SINGLE_COLUMNS,
    STRIDE_H,
    STRIDE_W,
    TRUE,
    UNIT_DILATION,
    Condition,
    Term,
    all_of,
    any_of,
    at_least,
    equal,
    greater,
    minimum,
    named,
    not_,
)
from onnxlint_cmsis.cmsis_nn.integer.convolution import beyond
from onnxlint_cmsis.cmsis_nn.loops import (
    Counts,
    FrontSizes,
    LoopSizes,
    add,
    block,
    by_rest,
    copy_in_c,
    library_block,
    library_copy,
    library_fill,
    up,
)
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE, RETRAIN, Hazard, Origin, kernel_at
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

# Entry points without branches (pooling, maximum, LSTM), and the contexts that a caller must allocate.


_FROM_6 = ("6.0.0", "7.0.0", "main")
_POOLING = "Source/PoolingFunctions/"

_EMPTY_WINDOW = any_of(
    at_least(PAD_H, FILTER_H),
    at_least((OUT_H - 1) * STRIDE_H - PAD_H, IN_H),
    at_least(PAD_W, FILTER_W),
    at_least((OUT_W - 1) * STRIDE_W - PAD_W, IN_W),
)

# A window reaches at most as far past the input as the padding after asks; rounding the output up adds no empty one.
_EMPTY_BY_PADDING = any_of(
    at_least(PAD_H, FILTER_H),
    all_of(at_least(PAD_AFTER_H, FILTER_H), _EMPTY_WINDOW),
    at_least(PAD_W, FILTER_W),
    all_of(at_least(PAD_AFTER_W, FILTER_W), _EMPTY_WINDOW),
)


def _average(name: str, function: str, since: str) -> Hazard:
    return Hazard(
        id=name,
        kind="returns-error",
        entries=(_entry(function),),
        origin=Origin(f"{_POOLING}{function}.c", function, {since: 0}),
        when=_EMPTY_WINDOW,
        unsized=_EMPTY_BY_PADDING,
        brief="returns ARM_CMSIS_NN_ARG_ERROR for a window without input",
        what="A window holds no input at all, only padding: average pooling returns an argument error.",
        way_round="Choose a padding below the window's size and an output that no window starts behind the input. This "
        f"{RETRAIN}.",
        status=-1,
    )


def _one_image(name: str, function: str, lines: dict[str, int]) -> Hazard:
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=(_entry(function),),
        origin=Origin(f"{_POOLING}{function}.c", function, lines, until="6.0.0"),
        when=greater(IN_N, 1),
        brief="pools the first image only",
        what="The kernel of this release never reads the batch: only the first image is pooled.",
        way_round="Call it once per image.",
    )


def _unwritten(name: str, function: str, lines: dict[str, int]) -> Hazard:
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=(_entry(function),),
        origin=Origin(f"{_POOLING}{function}.c", function, lines),
        when=_EMPTY_WINDOW,
        unsized=_EMPTY_BY_PADDING,
        brief="leaves the outputs of windows without input as they were",
        what="A window holds no input at all, only padding: max pooling writes nothing there and clamps what lay in "
        "the output before, status SUCCESS.",
        way_round="Choose a padding below the window's size and an output that no window starts behind the input. This "
        f"{RETRAIN}.",
    )


def _no_state(name: str, function: str) -> Hazard:
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=(_entry(function),),
        origin=Origin(f"Source/LSTMFunctions/{function}.c", function, {"6.0.0": 55, "7.0.0": 55}, until="main"),
        when=equal(INITIAL_STATE, 1),
        brief="ignores the model's initial state and starts from zeros",
        what="The function of this release takes no initial state: it clears the cell state and starts without a "
        "hidden state, so that a model which carries its state from call to call starts anew each time.",
        breach=TRUE,
        way_round="Give the whole sequence in one call, or use CMSIS-NN main, which takes the state.",
    )


def _single_columns(name: str, function: str, line: int) -> Hazard:
    """Of every two shapes of 1 to 3 in each axis that broadcast, exactly those that meet it come out wrong."""
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=(_entry(function),),
        origin=Origin(f"Source/BasicMathFunctions/{function}.c", function, {"7.0.0": line, "main": line}),
        when=SINGLE_COLUMNS,
        brief="takes elements of the wrong rows, and elements behind the operand",
        what="One operand has a single column and a single channel and is repeated along the width: after each row the "
        "function goes on by two of its elements in place of one, status SUCCESS.",
        breach=TRUE,
        way_round="Repeat that operand along the width in the model, so that it has as many columns as the other one.",
    )


def _context(name: str, function: str, file: str, lines: dict[str, int], isas: tuple[Isa, ...] = MVE_ONLY) -> Hazard:
    """A context that must not be NULL: no defect of a model, but for who writes the call."""
    return Hazard(
        id=name,
        kind="returns-error",
        entries=("fully_connected_s8",) if "fully_connected" in function else (_entry(function),),
        origin=Origin(file, function, lines, isas),
        when=TRUE,
        brief="returns ARM_CMSIS_NN_ARG_ERROR without a buffer",
        what="Without a buffer in its context the function returns ARM_CMSIS_NN_ARG_ERROR.",
        way_round="Allocate what the size function answers and fill in the kernel sums.",
        status=-1,
        caller=True,
    )


def _entry(function: str) -> str:
    return function.removeprefix("arm_")


_DENSE = "Source/FullyConnectedFunctions/"
_FC, _FC_CHANNEL = "arm_fully_connected_s8", "arm_fully_connected_per_channel_s8"
_ANY_FROM_5 = ("5.0.0", *_FROM_6)

OTHERS_HAZARDS = (
    _average("avgpool-empty-window", "arm_avgpool_s8", V5_8),
    _average("avgpool-s16-empty-window", "arm_avgpool_s16", V5_9),
    _one_image("avgpool-one-image", "arm_avgpool_s8", {V5_8: 0, "4.0.0": 74}),
    _one_image("avgpool-s16-one-image", "arm_avgpool_s16", {V5_9: 0}),
    _one_image(
        "max-pool-one-image",
        "arm_max_pool_s8",
        {"4.0.0": 163, "4.1.0": 163, "5.0.0": 163},
    ),
    _one_image("max-pool-s16-one-image", "arm_max_pool_s16", {"4.0.0": 145, "4.1.0": 145, "5.0.0": 145}),
    _unwritten(
        "max-pool-empty-window",
        "arm_max_pool_s8",
        {V5_8: 162, V5_9: 162, "4.0.0": 163, "4.1.0": 163, "5.0.0": 163, **dict.fromkeys(_FROM_6, 162)},
    ),
    _unwritten(
        "max-pool-s16-empty-window",
        "arm_max_pool_s16",
        {V5_9: 113, **dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", *_FROM_6), 145)},
    ),
    _no_state("lstm-initial-state-dropped", "arm_lstm_unidirectional_s8"),
    _no_state("lstm-s16-initial-state-dropped", "arm_lstm_unidirectional_s16"),
    _single_columns("maximum-single-columns", "arm_maximum_s8", 202),
    _single_columns("minimum-single-columns", "arm_minimum_s8", 201),
    _context("fc-null-context", _FC, f"{_DENSE}{_FC}.c", {"5.0.0": 70, **dict.fromkeys(_FROM_6, 69)}),
    _context("fc-per-channel-null-context", _FC_CHANNEL, f"{_DENSE}{_FC_CHANNEL}.c", {"7.0.0": 68, "main": 68}),
    _context("svdf-null-context", "arm_svdf_s8", "Source/SVDFunctions/arm_svdf_s8.c", dict.fromkeys(_ANY_FROM_5, 76)),
    _context(
        "batch-matmul-null-context",
        "arm_batch_matmul_s8",
        f"{_DENSE}arm_batch_matmul_s8.c",
        {"7.0.0": 58, "main": 58},
    ),
    _context(
        "avgpool-null-context",
        "arm_avgpool_s8",
        f"{_POOLING}arm_avgpool_s8.c",
        {V5_8: 0, "4.0.0": 242, **dict.fromkeys(_FROM_6, 264)},
        (Isa.DSP,),
    ),
)


# Kernels beside arm_convolve_s8 that keep sizes, or the place where a window starts, in 16-bit variables.


_UNSIGNED, _SIGNED = 65535, 32767
_DSP, _SCALAR = (Isa.DSP,), (Isa.SCALAR,)
_FROM_5 = ("5.0.0", "6.0.0", "7.0.0", "main")
_FROM_4_1 = ("4.1.0", *_FROM_5)
_FROM_4 = ("4.0.0", *_FROM_4_1)
_ODD_PIXEL = equal(OUT_H * OUT_W % 2, 1)
_ROW = named("start_of_last_row", (OUT_H - 1) * STRIDE_H - PAD_H)
_COLUMN = named("start_of_last_column", (OUT_W - 1) * STRIDE_W - PAD_W)
_FAR = any_of(greater(_ROW, _SIGNED), greater(_COLUMN, _SIGNED))
# arm_depthwise_conv_s8 hands these to a function that counts in 32 bits.
_TILE = all_of(equal(CH_MULT % 4, 0), equal(IN_N, 1), UNIT_DILATION)


class _Said(NamedTuple):
    """What a row says."""

    brief: str
    """Predicate of a sentence about the kernel."""
    what: str
    """What happens and why."""


_COLUMNS = "cuts the number of columns off to 16 bits"
_SIZE_CUT = _Said("cuts a size off to 16 bits", "Sizes and paddings are kept in 16-bit variables.")
_WINDOW_CUT = _Said(
    "cuts the start of a window off to 16 bits",
    "The place where a window starts is kept in a signed 16-bit variable: a window that starts beyond 32,767 reads"
    " other inputs or none.",
)
_ODD_CUT = _Said(
    _COLUMNS, "For the last of an odd number of output pixels the columns are counted in a 16-bit variable."
)
_PIXEL_CUT = _Said(_COLUMNS, "The columns of an output pixel are counted in a 16-bit parameter.")
_CHANNEL_CUT = _Said(
    "cuts the number of a channel off to 16 bits",
    "Channels are counted in a 16-bit variable: those from 65,536 on are computed from other inputs and weights.",
)


def _at(
    kernel: str, lines: dict[str, int], isas: tuple[Isa, ...] = ALL_ISAS, until: str = "", *, function: str = ""
) -> Origin:
    """A place in a kernel's file: in the kernel, or in the static `function` that it calls."""
    origin = kernel_at(kernel, lines, isas, until)
    return origin._replace(function=function) if function else origin


def _too_large(name: str, entry: str, origin: Origin, when: Condition, said: _Said) -> Hazard:
    return Hazard(
        id=name,
        kind="too-large",
        entries=(entry,),
        of_kernels=(PurePosixPath(origin.file).stem,),
        origin=origin,
        when=when,
        brief=said.brief,
        what=said.what,
    )


def _beyond(*sizes: Term) -> Condition:
    return any_of(*(greater(size, _UNSIGNED) for size in sizes))


def _sizes(name: str, entry: str, origin: Origin, when: Condition) -> Hazard:
    return _too_large(name, entry, origin, when, _SIZE_CUT)


def _odd_column(name: str, origin: Origin, largest: int) -> Hazard:
    """The loop over the pixel that an odd number leaves over: plain C counts in steps of 2, dsp code in steps of 4."""
    breach = greater(COLS, largest)
    return _too_large(name, "convolve_s4", origin, all_of(_ODD_PIXEL, breach), _ODD_CUT)._replace(breach=breach)


def _windows(name: str, entry: str, origin: Origin, when: Condition = _FAR) -> Hazard:
    return _too_large(name, entry, origin, when, _WINDOW_CUT)


def _channels(name: str, entry: str, origin: Origin) -> Hazard:
    """row_shift, or col_shift, counts channels in steps of 4: 65536 is the first that it cannot hold."""
    return _too_large(name, entry, origin, greater(OUT_C, _UNSIGNED + 1), _CHANNEL_CUT)


_PLANE = (IN_H, IN_W, FILTER_H, FILTER_W, OUT_H, OUT_W, PAD_H, PAD_W)
# A row of one window does not use the number of input channels that is cut off.
_ONE_ROW = any_of(
    _beyond(IN_W, FILTER_W, OUT_W, PAD_W),
    all_of(greater(IN_C, _UNSIGNED), greater(OUT_W, 1)),
)
_GENERIC = any_of(_FAR, _beyond(IN_C, CH_MULT, *_PLANE))

_S4, _S4_OPT = "arm_convolve_s4", "arm_depthwise_conv_s4_opt"
_S8_OPT, _FAST_S16 = "arm_depthwise_conv_s8_opt", "arm_depthwise_conv_fast_s16"
_1XN_S8_LINES = dict.fromkeys(("4.0.0", "4.1.0", "5.0.0"), 74)
_1XN_S4_LINES = {"6.0.0": 73, "7.0.0": 73, "main": 72}
_S4_LINES, _EVEN_LINES = dict.fromkeys(_FROM_5, 71), {"7.0.0": 73, "main": 73}
_S4_DEF = dict.fromkeys(_FROM_5, 50)
_S8_OPT_LINES = {"4.0.0": 246, **dict.fromkeys(_FROM_4_1, 225)}
_S8_OPT_SHIFT = dict.fromkeys(_FROM_4, 51)
_S4_OPT_LINES = {"5.0.0": 112, **dict.fromkeys(_FROM_5[1:], 267)}
_S4_OPT_SHIFT = dict.fromkeys(_FROM_5, 51)
_S4_GENERIC_LINES = {"5.0.0": 84, **dict.fromkeys(_FROM_5[1:], 85)}

SIXTEEN_BIT_HAZARDS = (
    _sizes(
        "conv-1xn-16-bit-sizes",
        "convolve_s8",
        _at("arm_convolve_1_x_n_s8", _1XN_S8_LINES, MVE_ONLY, "6.0.0"),
        _ONE_ROW,
    ),
    _sizes(
        "conv-1xn-s4-16-bit-sizes",
        "convolve_s4",
        _at("arm_convolve_1_x_n_s4", _1XN_S4_LINES, MVE_ONLY),
        _ONE_ROW,
    ),
    _sizes("conv-s4-16-bit-sizes", "convolve_s4", _at(_S4, _S4_LINES), _beyond(IN_C, *_PLANE)),
    # From 6.0.0 on MVE code counts output channels in 32 bits.
    _sizes(
        "conv-s4-16-bit-outputs",
        "convolve_s4",
        _at(_S4, dict.fromkeys(_FROM_5, 78), NOT_MVE),
        greater(OUT_C, _UNSIGNED),
    ),
    _odd_column("conv-s4-16-bit-odd-column-plain", _at(_S4, _S4_DEF, _SCALAR), 2 * _UNSIGNED + 1),
    _odd_column("conv-s4-16-bit-odd-column-dsp", _at(_S4, _S4_DEF, _DSP), 4 * _UNSIGNED + 3),
    # arm_convolve_s4 of 5.0.0 has no MVE code: it runs the dsp code.
    _odd_column("conv-s4-16-bit-odd-column-mve", _at(_S4, {"5.0.0": 50}, MVE_ONLY, "6.0.0"), 4 * _UNSIGNED + 3),
    _sizes(
        "conv-even-s4-16-bit-sizes",
        "convolve_s4",
        _at("arm_convolve_even_s4", _EVEN_LINES, MVE_ONLY),
        _beyond(IN_C, *_PLANE),
    ),
    _too_large(
        "conv-16-bit-columns-mve",
        "convolve_s8",
        _at("arm_convolve_s8", {"4.0.0": 51}, MVE_ONLY, "4.1.0"),
        greater(COLS, _UNSIGNED),
        _PIXEL_CUT,
    ),
    _windows(
        "dw-16-bit-windows",
        "depthwise_s8",
        _at("arm_depthwise_conv_s8", dict.fromkeys(_FROM_4, 193), function="depthwise_conv_s8_generic"),
        all_of(not_(_TILE), _GENERIC),
    )._replace(breach=_GENERIC),
    _windows(
        "dw-s16-16-bit-windows",
        "depthwise_s16",
        _at("arm_depthwise_conv_s16", dict.fromkeys(_FROM_4, 165), function="depthwise_conv_s16_generic_s16"),
        _GENERIC,
    ),
    _windows(
        "dw-s4-16-bit-windows",
        "depthwise_s4",
        _at("arm_depthwise_conv_s4", _S4_GENERIC_LINES, function="depthwise_conv_s4_generic"),
    ),
    _windows("dw-opt-16-bit-windows", "depthwise_s8", _at(_S8_OPT, _S8_OPT_LINES, _DSP)),
    _windows("dw-fast-s16-16-bit-windows", "depthwise_s16", _at(_FAST_S16, dict.fromkeys(_FROM_4, 236), _DSP)),
    _windows("dw-s4-opt-16-bit-windows", "depthwise_s4", _at(_S4_OPT, _S4_OPT_LINES, NOT_MVE)),
    _windows("dw-s4-opt-16-bit-windows-mve", "depthwise_s4", _at(_S4_OPT, {"5.0.0": 112}, MVE_ONLY, "6.0.0")),
    _channels("dw-opt-16-bit-channels", "depthwise_s8", _at(_S8_OPT, _S8_OPT_SHIFT, _DSP)),
    _channels("dw-fast-s16-16-bit-channels", "depthwise_s16", _at(_FAST_S16, dict.fromkeys(_FROM_4_1, 51), _DSP)),
    _channels("dw-s4-opt-16-bit-channels", "depthwise_s4", _at(_S4_OPT, _S4_OPT_SHIFT, NOT_MVE)),
    _channels("dw-s4-opt-16-bit-channels-mve", "depthwise_s4", _at(_S4_OPT, {"5.0.0": 51}, MVE_ONLY, "6.0.0")),
)


# arm_transpose_s8: arm_transpose_s8_nhcw turns two axes, and on MVE the last two of four, with 16-bit sizes.
#
# Of two axes the last two sizes of a call are the axes, w rows by c columns; the function is given 1 x 1 x n x h.


LARGEST_U16 = 65535
_FILE = "Source/TransposeFunctions/arm_transpose_s8.c"
_FUNCTION, _LOOP = "arm_transpose_s8", "arm_transpose_s8_nhcw"

_TWO_AXES = equal(PERMUTED_AXES, 2)
_LAST_TWO_OF_FOUR = all_of(equal(PERMUTED_AXES, 4), equal(PERMUTATION[0], 0), equal(PERMUTATION[1], 1))
_WIDE = any_of(greater(IN_W, LARGEST_U16), greater(IN_C, LARGEST_U16))
_GATHERED = greater(named("last_lane", minimum(IN_W - 1, 7)) * IN_C, LARGEST_U16)


def _row(name: str, when: Condition, isas: tuple[Isa, ...], at: tuple[str, int], words: tuple[str, str]) -> Hazard:
    """A hazard. `at`: C function and line. `words`: what happens, and what helps."""
    function, line = at
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=("transpose_s8",),
        of_kernels=(_FUNCTION,),
        origin=Origin(_FILE, function, {"7.0.0": line, "main": line}, isas),
        when=when,
        brief="moves elements to the wrong place",
        what=words[0],
        way_round=words[1],
    )


TRANSPOSE_HAZARDS = (
    _row(
        "transpose-16-bit-sizes",
        all_of(_TWO_AXES, _WIDE),
        NOT_MVE,
        (_LOOP, 57),
        (
            "The loop over two axes keeps their sizes in uint16_t: above 65,535 part of the elements is never moved.",
            "Split the tensor so that no axis is above 65,535, or add an axis of 1.",
        ),
    ),
    _row(
        "transpose-16-bit-offsets",
        all_of(any_of(_TWO_AXES, _LAST_TWO_OF_FOUR), any_of(_WIDE, _GATHERED)),
        MVE_ONLY,
        (_LOOP, 58),
        (
            "Sizes, and the offsets of the up to 8 elements that are gathered at a time, are kept in 16 bits: elements "
            "from 65,536 on behind the first are read from the wrong place.",
            "Keep the last axis at 9,362 or less, or let the permutation move an axis in front of the last two.",
        ),
    ),
    _row(
        "transpose-identity-of-two",
        all_of(_TWO_AXES, equal(PERMUTATION[0], 0), greater(IN_W, 1), greater(IN_C, 1)),
        ALL_ISAS,
        (_FUNCTION, 193),
        (
            "Of two axes the function turns both without a look at the permutation, also where they stay.",
            "Leave out the Transpose, which moves nothing.",
        ),
    ),
    _row(
        "transpose-identity",
        all_of(_LAST_TWO_OF_FOUR, equal(PERMUTATION[2], 2), greater(IN_W, 1), greater(IN_C, 1)),
        MVE_ONLY,
        (_FUNCTION, 232),
        (
            "Of four axes the function turns the last two where the first two stay, without a look at the rest of the "
            "permutation: also where they stay as well.",
            "Leave out the Transpose, which moves nothing.",
        ),
    ),
)


# Addition, multiplication and softmax: how often their loops run.
#
# Sources: BasicMathFunctions/arm_elementwise_add_s8.c and arm_elementwise_mul_s8.c,
# SoftmaxFunctions/arm_softmax_s8.c.


def elementwise_s8(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s8 (`add`) and arm_elementwise_mul_s8 (`mul`) over the whole tensor."""
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.SCALAR:
        return {name: 1, f"{name}.element": length}
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    return {name: 1, f"{name}.four": length // 4, f"{name}.single": length % 4, f"{name}.single.enter": length % 4 > 0}


def softmax_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_softmax_s8: maximum, sum of exponentials and division over each row."""
    rows, length = sizes.n, sizes.in_c
    counts = {"softmax": 1, "softmax.row": rows}
    if isa is not Isa.MVE:
        return counts | {"softmax.element": rows * length}
    tail = length % 4
    return counts | {
        "softmax.sixteen": rows * up(length, 16),
        "softmax.four": rows * (length // 4),
        "softmax.tail": rows * tail,
        "softmax.tail.enter": rows * (tail > 0),
    }


# Maximum and minimum, which broadcast: how often their loops run.
#
# Sources: BasicMathFunctions/arm_maximum_s8.c and arm_minimum_s8.c of 7.0.0 and main.


LEVELS = ("all", "image", "row", "pixel")
"""Levels at which a loop over all remaining elements begins, from the outermost."""


def extreme_s8(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Loops go down to the level where the operands have equal sizes, or one of them is a single number.

    gcc makes separate loops for each level, so each piece is named after its level.
    """
    counts: Counts = {}
    walked: list[tuple[str, int]] = []
    open_, turns = 1, 1
    for axis, level in enumerate(LEVELS):
        first, second = sizes.image[axis:], sizes.second[axis:]
        same = 1
        for axis_before, (left, right) in enumerate(zip(first, second, strict=True)):
            walked.append((f"{level}.differs_{axis_before}", turns * same * (left != right)))
            same = same * (left == right)
        walked.append((level, turns))
        lone = (1 - same) * (_product(first) == 1)
        other_lone = (1 - same - lone) * (_product(second) == 1)
        length = _product(sizes.output[axis:])
        steps = up(length, 16) if isa is Isa.MVE else length
        for word, taken in (("same", same), ("first_single", lone), ("second_single", other_lone)):
            ends, end = open_ * taken, f"{name}.{level}_{word}"
            add(counts, {end: ends, f"{end}.step": ends * turns * steps})
            add(counts, {f"{end}.{passed}": ends * times for passed, times in walked})
        open_, turns = open_ * (1 - same - lone - other_lone), turns * sizes.output[axis]
    return counts


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total = total * size
    return total


# Pads: how often the loops of arm_pad_s8 run.
#
# Source: PadFunctions/arm_pad_s8.c of 7.0.0 and main. Input and output begin at addresses divisible by 4.


class _Piece(NamedTuple):
    """A fill or copy that runs once for each image, row or pixel."""

    size: int
    """Bytes."""
    start: int
    """Address in the output, of the first one."""
    copied: bool = False
    """Whether it comes from the input."""


def pad_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """Fills before and after each image and row, and each pixel if channels are added; copies of rows or pixels."""
    front, rows = sizes.pad_front, sizes.n * sizes.in_h
    copy = copy_in_c if sizes.aligned else library_copy
    deeper = 1 * (sizes.out_c != sizes.in_c)
    counts = {"pad": 1, "pad.image": sizes.n, "pad.row": rows, "pad.pixel": rows * sizes.in_w * deeper}
    pixel, row = sizes.out_c, sizes.out_w * sizes.out_c
    image = sizes.out_h * row
    first = front.n * image
    line = first + front.h * row
    point = line + front.w * pixel
    behind = FrontSizes(
        sizes.out_n - sizes.n - front.n, sizes.out_h - sizes.in_h - front.h,
        sizes.out_w - sizes.in_w - front.w, sizes.out_c - sizes.in_c - front.c,
    )  # fmt: skip
    flat = sizes.in_w * sizes.in_c
    once = (_Piece(first, 0), _Piece(image * behind.n, first + sizes.n * image))
    each_image = (_Piece(row * front.h, first), _Piece(row * behind.h, line + sizes.in_h * row))
    each_row = (
        _Piece(pixel * front.w, line), _Piece((1 - deeper) * flat, point, copied=True),
        _Piece(pixel * behind.w, point + sizes.in_w * pixel),
    )  # fmt: skip
    each_pixel = (
        _Piece(deeper * front.c, point), _Piece(deeper * sizes.in_c, point + front.c, copied=True),
        _Piece(deeper * behind.c, point + front.c + sizes.in_c),
    )  # fmt: skip
    turns = ((sizes.n, image, sizes.in_h * flat), (sizes.in_h, row, flat), (sizes.in_w, pixel, sizes.in_c))
    for depth, pieces in enumerate((once, each_image, each_row, each_pixel)):
        for times, start, source in _alignments(turns[:depth]):
            for piece in pieces:
                add(counts, _moved(isa, times, piece._replace(start=piece.start + start), source, copy))
    return counts


def _moved(
    isa: Isa, times: int, piece: _Piece, source: int, copy: Callable[[str, int, int, int, int], Counts]
) -> Counts:
    """One fill or copy, which memcpy makes; no call for zero bytes."""
    times = times * (piece.size > 0)
    if isa is Isa.MVE:
        return block(isa, "pad.copy" if piece.copied else "pad.fill", times, piece.size)
    if piece.copied:
        return copy("pad.copy", times, piece.size, source, piece.start)
    return library_fill("pad.fill", times, piece.size, piece.start)


def _alignments(turns: tuple[tuple[int, int, int], ...]) -> Iterator[tuple[int, int, int]]:
    """Turns of nested loops by the alignment of their addresses: number, output and input address modulo 4.

    A loop is its number of turns, and the bytes from one turn to the next in the output and in the input.
    """
    if not turns:
        yield 1, 0, 0
        return
    (count, step, source_step), *inner = turns
    for first in range(min(4, count)):
        for times, start, source in _alignments(tuple(inner)):
            yield times * ((count - first + 3) // 4), start + first * step, source + first * source_step


# Pooling: how often the loops of arm_avgpool_s8 and arm_max_pool_s8 run.
#
# Sources: PoolingFunctions/arm_avgpool_s8.c and arm_max_pool_s8.c.


def avgpool_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """Scalar goes channel by channel, dsp adds whole pixels in a buffer, MVE takes 16 channels at a time."""
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
    return {
        **counts,
        "avgpool.lane": sizes.pixels * lanes,
        "avgpool.filter_row": rows * lanes,
        "avgpool.tap": plane.inside * lanes,
    }


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


# Other layers of 16-bit activations: how often their loops run.
#
# Sources (7.0.0): NNSupportFunctions/arm_nn_vec_mat_mult_t_s16.c, PoolingFunctions/arm_avgpool_s16.c and
# arm_max_pool_s16.c, BasicMathFunctions/arm_elementwise_add_s16.c and arm_elementwise_mul_s16.c.


OUTPUTS = {Isa.SCALAR: 1, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs of a fully connected layer computed together."""


def fully_connected_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row. Sums have 64 bits beyond 512 products, on scalar always."""
    depth, (groups, rest) = sizes.in_c, divmod(sizes.out_c, OUTPUTS[isa])
    counts: Counts = {"fc_s16": 1, "fc_s16.row": sizes.n}
    counts |= {"fc_s16.group.enter": sizes.n * (groups > 0), "fc_s16.rest.enter": sizes.n * (rest > 0)}
    for name, outputs in (("fc_s16.group", sizes.n * groups), ("fc_s16.rest", sizes.n * rest)):
        counts[name] = outputs
        counts |= _products(isa, name, outputs, depth)
    return counts


def _products(isa: Isa, name: str, outputs: int, depth: int) -> Counts:
    if isa is Isa.SCALAR:
        return {f"{name}.depth": outputs * depth}
    long = beyond(depth)
    if isa is Isa.MVE:
        return {
            f"{name}.vector": outputs * up(depth - long, 8),
            f"{name}.long": outputs * long,
            f"{name}.long.enter": outputs * (long > 0),
        }
    blocks = (depth - long) // 4
    counts = {f"{name}.depth_4": outputs * blocks, f"{name}.depth_4.enter": outputs * (blocks > 0)}
    counts |= dict(by_rest(f"{name}.tail", outputs, depth - long, 4)[1:])
    return counts | {f"{name}.long": outputs * long, f"{name}.long.enter": outputs * (long > 0)}


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


def elementwise_s16(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s16 (`add_s16`) and arm_elementwise_mul_s16 (`mul_s16`) over the whole tensor."""
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    two = {f"{name}.two": length // 2, f"{name}.two.enter": 1 * (length > 1)}
    return {name: 1, f"{name}.odd": length % 2} | two


# Transposes: how often the loops of arm_transpose_s8 run.
#
# Source: TransposeFunctions/arm_transpose_s8.c of 7.0.0 and main.


NARROW = {Isa.SCALAR: 6, Isa.DSP: 6, Isa.MVE: 7}
"""Longest line, in bytes, that gcc copies byte by byte."""


def transpose_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """A special loop turns two axes, and on MVE the last two of four. Others move element by element."""
    order, (images, height, width, channels) = sizes.permutation, sizes.image
    kept = len(order) == 4 and order[:2] == (0, 1)
    if len(order) == 2 or (kept and isa is Isa.MVE):
        return _turned(f"turned.of_{len(order)}", isa, sizes.image)
    last = order.index(len(order) - 1)
    adjacent = prod(sizes.output[-len(order) :][last + 1 :]) == 1
    name = f"transpose.of_{len(order)}.{'adjacent' if adjacent else 'apart'}"
    rows, pixels = images * height, images * height * width
    counts = {
        name: 1,
        f"{name}.image": images,
        f"{name}.row": rows,
        f"{name}.pixel": pixels,
    }
    if adjacent:
        return counts | _copied(name, isa, pixels, channels)
    return counts | {f"{name}.element": pixels * channels}


def _copied(name: str, isa: Isa, lines: int, length: int) -> Counts:
    """Lines whose elements stay next to each other; gcc copies longer ones than NARROW by vectors or words."""
    by = 8 if isa is Isa.MVE else 4
    wide = lines * (length > NARROW[isa])
    narrow = lines - wide
    counts = {f"{name}.narrow": narrow, f"{name}.narrow.element": narrow * length, f"{name}.wide": wide}
    counts |= dict(by_rest(f"{name}.wide", wide, length, by)[1:])
    if isa is not Isa.MVE:
        return counts | {f"{name}.word": wide * (length // 4)}
    return counts | {
        f"{name}.sixteen": wide * (length // 16),
        f"{name}.sixteen.enter": wide * (length >= 16),
        f"{name}.eight": wide * (length % 16 // 8),
    }


def _turned(name: str, isa: Isa, image: tuple[int, int, int, int]) -> Counts:
    """arm_transpose_s8_nhcw: on MVE eight elements of a channel at a time, elsewhere an element of a row."""
    images, height, width, channels = image
    rows = images * height
    counts = {name: 1, f"{name}.image": images, f"{name}.row": rows}
    if isa is Isa.MVE:
        return counts | {f"{name}.line": rows * channels, f"{name}.eight": rows * channels * up(width, 8)}
    return counts | {f"{name}.line": rows * width, f"{name}.element": rows * width * channels}
