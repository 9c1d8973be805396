"""Pooling, elementwise functions, softmax, pad, transpose and recurrent layers: hazards and cost."""

from __future__ import annotations

from pathlib import PurePosixPath

from onnxlint_cmsis.cmsis_nn.arguments import (
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
    UNIT_DILATION,
)
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, any_of, at_least, equal, greater, not_
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE, RETRAIN, Origin, kernel_at
from onnxlint_cmsis.cmsis_nn.terms import Term, minimum, named
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
