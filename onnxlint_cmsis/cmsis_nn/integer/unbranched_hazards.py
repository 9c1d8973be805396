"""Hazards of entry points without branches (pooling, maximum, LSTM), and the contexts that a caller must allocate."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, INITIAL_STATE, OUT, PAD, PAD_AFTER, SINGLE_COLUMNS, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, any_of, at_least, equal, greater
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, Origin
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.ground.words import RETRAIN

_FROM_6 = ("6.0.0", "7.0.0", "main")
_POOLING = "Source/PoolingFunctions/"

_EMPTY_WINDOW = any_of(
    at_least(PAD.h, FILTER.h),
    at_least((OUT.h - 1) * STRIDE.h - PAD.h, IN.h),
    at_least(PAD.w, FILTER.w),
    at_least((OUT.w - 1) * STRIDE.w - PAD.w, IN.w),
)

# A window reaches at most as far past the input as the padding after asks; rounding the output up adds no empty one.
_EMPTY_BY_PADDING = any_of(
    at_least(PAD.h, FILTER.h),
    all_of(at_least(PAD_AFTER.h, FILTER.h), _EMPTY_WINDOW),
    at_least(PAD.w, FILTER.w),
    all_of(at_least(PAD_AFTER.w, FILTER.w), _EMPTY_WINDOW),
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
        when=greater(IN.n, 1),
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
