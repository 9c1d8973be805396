"""Checks of the kernels that run reference code: a row for each, with its line, its outcome and its days."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    ABORTS_INVOKE,
    ABORTS_PREPARE,
    ABOVE_ONE,
    ACTIVATION,
    ANY_RANK,
    AXIS,
    BELOW_ONE,
    BOOL_RESULTS,
    CONSTANT_CHECKS,
    DATA,
    FLOAT,
    HALTS_INVOKE,
    HALTS_PREPARE,
    INDEX_TYPES,
    INDICES,
    INNER,
    INT8,
    INT16,
    INVOKE,
    LEFT,
    MOST_AXES,
    MOVED,
    NUMBERS,
    OUTPUT,
    PREPARE,
    RUNTIME_SHAPE,
    SCRATCH_AXES,
    SECOND,
    SIZES,
    THIRD,
    UTIL,
    VARIABLE,
    WRONG,
    above_one,
    activation_fits,
    aligned_once,
    all_inputs,
    always,
    any_zero,
    axis_within,
    below_one,
    bias_fits,
    blocks_fit,
    broadcast_to_shape,
    centred,
    channel_scales,
    contiguous,
    dynamic,
    embedding_fits,
    expanded,
    exponent_at_most_zero,
    falling,
    few_axes,
    filled,
    fits_variable,
    gathered,
    gathered_points,
    gentle_scale,
    given,
    image_mean,
    inputs,
    no_activation,
    no_outputs,
    no_steps,
    one_scale,
    outputs,
    packed,
    padded_axes,
    pair_factors,
    plain_if_stretched,
    planes_fit,
    pointed,
    power_of_two,
    quantized_pairs,
    ranked,
    reduced_axes,
    rows_within,
    same_bytes,
    same_elements,
    same_shape,
    same_steps,
    same_type,
    scale_count,
    scaled,
    selected_ranks,
    selected_shapes,
    shared_factor,
    single_value,
    sized,
    squared_factors,
    squeezed,
    squeezed_output,
    step_of,
    stored,
    strided,
    subgraphs_of_if,
    subgraphs_of_while,
    summed_factors,
    touched,
    two_sizes,
    typed,
    unless,
    update_fits,
    where,
    with_steps,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, quantized, single
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Unpredictable
from onnxlint_cmsis.runtimes.tflm.prepare_requests import WORD
from onnxlint_cmsis.runtimes.tflm.rows import (
    Condition,
    KernelLimit,
    KernelOperand,
    KernelOutcome,
    Objection,
    OfLayer,
    condition,
)

REFERENCE = KernelOutcome.REFERENCE
Row = KernelLimit


def rows(outcome: KernelOutcome, file: str, conditions: Mapping[int, Condition]) -> tuple[KernelLimit, ...]:
    """Checks of one outcome, each with its line in the file; the file is empty where `in_file` adds it."""
    return tuple(Row(f"{file}:{line}", outcome, condition) for line, condition in conditions.items())


def asked_since(day: str, *limits: KernelLimit) -> tuple[KernelLimit, ...]:
    """Rows from a day on. Before it the kernel did not look, and what it made of such an operator was not read."""
    return tuple(
        dated
        for limit in limits
        for dated in (
            limit._replace(since=day),
            limit._replace(until=day, condition=unread(limit.condition)),
        )
    )


@condition
def unread(view: OperatorView, rule: Condition) -> Objection | None:
    """The condition, of a revision without the check. Raises Unpredictable where it is broken."""
    text = rule(view)
    if text:
        raise Unpredictable(f"{text}, which this revision does not check")
    return None


def checks(
    file: str, prepare: Mapping[int, Condition], invoke: Mapping[int, Condition] | None = None
) -> tuple[KernelLimit, ...]:
    """Checks of Prepare, then of Eval, which return an error; each with its line in the file."""
    return (*rows(PREPARE, file, prepare), *rows(INVOKE, file, invoke or {}))


def type_until(kind: str, location: str, day: str, operand: KernelOperand = DATA) -> KernelLimit:
    """A type that Eval takes from a day on."""
    return Row(location, INVOKE, where(operand, (kind,), always(f"{operand.title} is {kind}")), until=day)


int16_until = partial(type_until, "INT16")


def _float_curve(file: str, first: int, *, given_at: tuple[int, int], type_at: int) -> tuple[KernelLimit, ...]:
    """Curves that take FLOAT32 alone, in one shape."""
    return checks(file, {
        first: inputs(1), first + 1: outputs, given_at[0]: given(DATA), given_at[1]: given(OUTPUT),
        type_at: typed(DATA, *FLOAT), type_at + 1: same_type(DATA, OUTPUT), type_at + 3: same_shape(DATA, OUTPUT),
    })  # fmt: skip


_ELEMENTWISE = (
    *checks("elementwise.cc", {
        81: inputs(1), 82: outputs, 85: given(DATA), 88: given(OUTPUT), 89: same_type(DATA, OUTPUT),
    }),
)  # fmt: skip
"""GenericPrepare, which takes every type: its test of the type asks whether a function pointer is set."""

_ABS_RSQRT = (
    *checks("elementwise.cc", {
        105: inputs(1), 106: outputs, 108: given(DATA), 110: given(OUTPUT), 111: same_type(DATA, OUTPUT),
        130: where(DATA, INT8, with_steps(DATA)),
    }),
    Row(
        "elementwise.cc:132",
        PREPARE,
        lambda view: (
            with_steps(OUTPUT)(view) if DATA.of(view).elem_type in INTEGER and quantized(DATA.of(view)) else ""
        ),
    ),
    *checks("elementwise.cc", {149: where(DATA, INT16, pointed(DATA, 0)), 150: where(DATA, INT16, pointed(OUTPUT, 0))}),
)  # fmt: skip

_SPLIT_TYPES = ("FLOAT32", "INT8", "INT16", "INT32")
_STRETCHED = Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, plain_if_stretched(4), until=ANY_RANK, cause="broadcast")
"""Until that day, operands of different shapes were taken for four axes."""


def _comparison(types: tuple[str, ...], line: int) -> tuple[KernelLimit, ...]:
    """K/comparisons.cc; `line` is that of the message on types."""
    return (
        *checks("comparisons.cc", {557: given(LEFT), 560: given(SECOND)}),
        Row(BELOW_ONE, ABORTS_PREPARE, where(LEFT, INT8, below_one(step_of(LEFT), step_of(SECOND)))),
        Row(f"comparisons.cc:{line}", INVOKE, typed(LEFT, *types)),
        Row("comparisons.cc:53", WRONG, same_type(LEFT, SECOND)),
        _STRETCHED,
    )


def _reduction(*, types: tuple[str, ...], types_at: int, same_at: int = 0) -> tuple[KernelLimit, ...]:
    """K/reduce_common.cc; lines are those of Eval, 0 for no check of the output's type."""
    file = "reduce_common.cc"
    same = (Row(f"{file}:{same_at}", INVOKE, same_type(DATA, OUTPUT)),) if same_at else ()
    return (
        *checks(file, {46: inputs(2), 47: outputs, 51: given(AXIS), 52: typed(AXIS, "INT32")}),
        *same,
        Row(f"{file}:{types_at}", INVOKE, typed(DATA, *types)),
    )


_FEW_AXES = Row("reduce_common.cc:298", WRONG, few_axes, "", "", SCRATCH_AXES, "", OfLayer(
    "more than two axes are reduced, and the kernel of this revision has room for two on its stack", sure=False
))  # fmt: skip

_EXTREME = (
    *_reduction(types=MOVED, types_at=188, same_at=149),
    *rows(INVOKE, "reduce_common.cc", {174: where(DATA, INT8, same_steps(DATA, OUTPUT)), 162: reduced_axes}),
)


def _blocks(file: str, first: int, last: int, message: int) -> tuple[KernelLimit, ...]:
    """Batches to blocks of an image and back; `first` and `last` are lines of Prepare, `message` one of Eval."""
    return (
        *checks(file, {
            first: inputs(3), first + 1: outputs, last - 6: given(DATA), last - 4: ranked(DATA, 3, 4),
            last - 3: ranked(OUTPUT, 3, 4), last: same_type(DATA, OUTPUT),
        }, {message: typed(DATA, *MOVED)}),
        *rows(WRONG, file, {message - 28: typed(SECOND, "INT32"), message - 26: typed(THIRD, "INT32")}),
    )  # fmt: skip


def _sigmoid(file: str, same: int, point: int, power: int, message: str) -> tuple[KernelLimit, ...]:
    """LOGISTIC and TANH of int16, whose output has 15 fractional bits."""
    return (
        Row(f"{file}:{same}", PREPARE, same_type(DATA, OUTPUT)),
        Row(f"{file}:{point}", PREPARE, where(DATA, INT16, pointed(DATA, 0))),
        Row(f"{file}:{point + 1}", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0))),
        Row(f"{file}:{power - 2}", HALTS_PREPARE, where(DATA, INT16, gentle_scale)),
        Row(f"{file}:{power}", PREPARE, where(DATA, INT16, power_of_two)),
        Row(message, INVOKE, typed(DATA, *NUMBERS)),
    )


_CAST = ("INT8", "INT16", "INT32", "UINT32", "FLOAT32")


def _told_since(day: str, limit: KernelLimit) -> tuple[KernelLimit, ...]:
    """A check of Eval that returns an error from a day on; before it, it prints a line and leaves the output."""
    silent = limit._replace(outcome=WRONG, until=day, condition=_unwritten(limit.condition))
    return limit._replace(since=day), silent


@condition
def _unwritten(view: OperatorView, rule: Condition) -> Objection | None:
    text = rule(view)
    return text and f"{text}, and the output is never written"


_STEPS_OF_OUTPUT = all_inputs(lambda operand: same_steps(operand, OUTPUT))
_CONCAT_CHECKS = "2024-12-16"
"""Day from which concatenations check scales."""
INT16_POINT = OfLayer("int16 activations have a zero-point other than 0", (Cause.ZERO_POINT_S16,))

_TABLE: tuple[tuple[str, tuple[KernelLimit, ...]], ...] = (
    ("ABS", (*_ABS_RSQRT, Row("elementwise.cc:318", INVOKE, typed(DATA, *NUMBERS)))),
    ("ADD_N", (
        *checks("add_n.cc", {
            51: lambda view: inputs(2)(view) if len(view.operator.inputs) < 2 else "", 52: outputs,
            66: all_inputs(given), 63: same_type(OUTPUT, LEFT),
            67: all_inputs(lambda operand: same_shape(LEFT, operand)),
            68: all_inputs(lambda operand: same_type(LEFT, operand)),
            72: where(LEFT, INT8, all_inputs(lambda operand: same_steps(LEFT, operand))), 125: typed(OUTPUT, *MOVED),
        }),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INT8, below_one(shared_factor, summed_factors))),
    )),
    ("ARG_MAX ARG_MIN", (
        Row("arg_min_max.cc:90", INVOKE, typed(AXIS, "INT32")),
        Row("arg_min_max.cc:86", INVOKE, typed(OUTPUT, "INT32"), "ask for output_type=tf.int32, the default is int64"),
        Row("arg_min_max.cc:79", INVOKE, typed(DATA, *MOVED)),
    )),
    ("ASSIGN_VARIABLE", (
        *checks("assign_variable.cc", {
            54: inputs(2), 55: no_outputs, 66: typed(LEFT, "RESOURCE", "INT32"), 68: single_value(LEFT),
        }),
        Row(f"{VARIABLE}:131", HALTS_INVOKE, fits_variable(SECOND)),
        Row(f"{VARIABLE}:133", WRONG, fits_variable(SECOND)),
    )),
    ("CALL_ONCE", checks("call_once.cc", {54: inputs(0), 55: no_outputs})),
    ("READ_VARIABLE", (
        *rows(HALTS_PREPARE, "read_variable.cc", {
            39: inputs(1), 40: outputs, 48: typed(DATA, "RESOURCE"), 49: single_value(DATA),
        }),
        Row(f"{VARIABLE}:77", HALTS_INVOKE, fits_variable(OUTPUT)),
        Row(f"{VARIABLE}:79", WRONG, fits_variable(OUTPUT)),
    )),
    ("VAR_HANDLE", (Row("var_handle.cc:68", HALTS_PREPARE, given(OUTPUT)),)),
    ("BATCH_TO_SPACE_ND", _blocks("batch_to_space_nd.cc", 42, 57, 99)),
    ("BROADCAST_ARGS", checks("broadcast_args.cc", {
        32: inputs(2), 33: outputs, 43: typed(LEFT, *INDEX_TYPES), 45: same_type(LEFT, SECOND),
        46: same_type(LEFT, OUTPUT), 49: ranked(LEFT, 1, 1), 50: ranked(SECOND, 1, 1), 53: ranked(OUTPUT, 1, 1),
    })),
    ("BROADCAST_TO", (
        *checks("broadcast_to.cc", {
            77: inputs(2), 78: outputs, 87: ranked(DATA, 0, 5), 90: typed(SIZES, *INDEX_TYPES),
            92: same_type(DATA, OUTPUT),
        }),
        *asked_since(CONSTANT_CHECKS, Row("broadcast_to.cc:98", PREPARE, stored(SIZES))),
        Row("broadcast_to.cc:101", PREPARE, broadcast_to_shape),
    )),
    ("CAST", (
        *checks("cast.cc", {29: inputs(1), 30: outputs, 36: given(DATA), 39: given(OUTPUT)}),
        *_told_since("2025-11-10", Row("cast.cc:110", INVOKE, typed(DATA, *_CAST, "BOOL"))),
        *_told_since("2025-11-10", Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST), until=BOOL_RESULTS)),
        Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST, "BOOL")),
    )),
    ("CEIL", _float_curve("ceil.cc", 39, given_at=(35, 38), type_at=41)),
    ("CONCATENATION", (
        *checks("concatenation.cc", {
            137: given(DATA), 141: given(OUTPUT), 147: no_activation,
            148: typed(DATA, "FLOAT32", "INT8", "INT16", "INT32", "INT64", "BOOL"), 154: same_type(OUTPUT, DATA),
            158: inputs(*range(1, 11)), 168: all_inputs(given),
            169: all_inputs(lambda operand: same_type(operand, DATA)),
            172: all_inputs(lambda operand: ranked(operand, 0, MOST_AXES)),
        }),
        Row("concatenation.cc:183", PREPARE, where(DATA, INT8, _STEPS_OF_OUTPUT), since=_CONCAT_CHECKS,
            layer=OfLayer("an input has another scale or zero-point than the output",
                          (Cause.UNEQUAL_SCALES,))),
        Row("concatenation.cc:189", PREPARE, where(DATA, INT16, all_inputs(lambda operand: pointed(operand, 0))),
            since=_CONCAT_CHECKS, layer=INT16_POINT),
        Row("concatenation.cc:205", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), since=_CONCAT_CHECKS,
            cause="zero-point-s16"),
        Row("concatenation.cc:250", WRONG, where(DATA, INTEGER, _STEPS_OF_OUTPUT), layer=OfLayer(
            "the kernel copies stored values, and scales or zero-points differ",
            (Cause.UNEQUAL_SCALES,), sure=False)),
    )),
    ("COS LOG SIN SQRT SQUARE", (*_ELEMENTWISE, Row("elementwise.cc:201", INVOKE, typed(DATA, *FLOAT)))),
    ("CUMSUM", (
        *checks("cumsum.cc", {
            48: inputs(2), 49: outputs, 58: typed(DATA, *MOVED), 60: typed(AXIS, "INT32"), 62: single_value(AXIS),
            64: ranked(DATA, 1, 99), 69: same_type(DATA, OUTPUT), 70: same_shape(DATA, OUTPUT),
        }),
        Row(BELOW_ONE, ABORTS_PREPARE, where(DATA, INT8, below_one(shared_factor, summed_factors))),
        Row("cumsum.cc:127", INVOKE, axis_within(AXIS, DATA)),
    )),
    ("DEPTH_TO_SPACE", checks("depth_to_space.cc", {
        41: inputs(1), 42: outputs, 48: given(DATA), 51: given(OUTPUT), 53: ranked(DATA, 4, 4),
        56: typed(OUTPUT, *MOVED), 58: same_type(DATA, OUTPUT), 71: blocks_fit,
    })),
    ("DEQUANTIZE", (
        *checks("dequantize_common.cc", {32: inputs(1), 33: outputs, 39: given(DATA), 41: given(OUTPUT)}),
        Row(
            "dequantize_common.cc:43",
            PREPARE,
            lambda view: (
                typed(DATA, "INT8", "INT16", "UINT8")(view) if DATA.of(view).elem_type != "FLOAT16" else ""
            ),
        ),
        Row(
            "dequantize_common.cc:43",
            PREPARE,
            typed(DATA, "INT8", "INT16", "UINT8"),
            "convert without supported_types = [tf.float16]",
        ),
        Row("dequantize_common.cc:46", PREPARE, typed(OUTPUT, *FLOAT)),
    )),
    ("DIV", (
        *checks("div.cc", {
            80: given(LEFT), 83: given(SECOND), 86: given(OUTPUT), 49: same_type(LEFT, SECOND),
            50: same_type(LEFT, OUTPUT),
        }),
        Row(ACTIVATION, PREPARE, where(OUTPUT, INT8, activation_fits)),
        *checks("div.cc", {
            96: where(OUTPUT, ("INT32",), no_steps(LEFT)), 98: where(OUTPUT, ("INT32",), no_steps(SECOND)),
        }, {203: typed(OUTPUT, "FLOAT32", "INT32", "INT8")}),
        type_until("INT32", "div.cc:203", "2023-10-02", OUTPUT),
    )),
    ("DYNAMIC_UPDATE_SLICE", checks("dynamic_update_slice.cc", {
        127: inputs(3), 128: outputs, 149: same_type(LEFT, SECOND), 150: typed(THIRD, *INDEX_TYPES), 160: update_fits,
    }, {217: typed(LEFT, "FLOAT32", "INT8", "INT16", "INT32")})),
    ("ELU", checks("elu.cc", {85: inputs(1), 86: outputs, 93: same_type(DATA, OUTPUT)}, {139: typed(DATA, *MOVED)})),
    ("EMBEDDING_LOOKUP", (
        *checks("embedding_lookup.cc", {
            69: inputs(2), 70: outputs, 77: ranked(LEFT, 1, 1), 78: typed(LEFT, "INT32"), 83: ranked(SECOND, 2, 99),
            84: typed(SECOND, *MOVED), 91: where(SECOND, FLOAT, typed(OUTPUT, *FLOAT)), 93: typed(OUTPUT, *MOVED),
            112: embedding_fits,
        }, {138: rows_within}),
        Row("embedding_lookup.cc:59", PREPARE, where(SECOND, INT8, where(OUTPUT, FLOAT, pointed(SECOND, 0)))),
    )),
    ("EQUAL NOT_EQUAL", _comparison(("BOOL", "FLOAT32", "INT32", "INT64", "INT8"), 120)),
    ("EXP", _float_curve("exp.cc", 33, given_at=(37, 40), type_at=41)),
    ("EXPAND_DIMS", (
        *checks("expand_dims.cc", {90: inputs(2), 91: outputs}),
        *asked_since(CONSTANT_CHECKS, Row("expand_dims.cc:102", PREPARE, stored(AXIS))),
        *checks("expand_dims.cc", {104: expanded}, {140: typed(DATA, *NUMBERS)}),
    )),
    ("FILL", (
        *checks("fill.cc", {
            73: given(LEFT), 76: given(SECOND), 82: ranked(SECOND, 0, 0), 85: same_type(SECOND, OUTPUT),
        }),
        Row("fill.cc:90", PREPARE, stored(LEFT), since=CONSTANT_CHECKS),
        Row("fill.cc:94", PREPARE, filled),
        Row("fill.cc:125", INVOKE, typed(SECOND, "FLOAT32", "INT32", "INT8")),
    )),
    ("FLOOR", (Row("floor.cc:32", INVOKE, typed(DATA, *FLOAT)),)),
    ("FLOOR_DIV", (
        *checks("floor_div.cc", {
            37: inputs(2), 38: outputs, 50: same_type(LEFT, SECOND), 51: same_type(LEFT, OUTPUT),
        }, {117: typed(LEFT, *FLOAT), 78: any_zero(SECOND)}),
        _STRETCHED,
    )),
    ("FLOOR_MOD", (
        *checks("floor_mod.cc", {
            42: inputs(2), 43: outputs, 55: same_type(LEFT, SECOND), 56: same_type(LEFT, OUTPUT),
        }, {115: typed(LEFT, *FLOAT)}),
        _STRETCHED,
    )),
    ("GATHER", checks("gather.cc", {
        103: inputs(2), 104: outputs, 122: typed(INDICES, "INT32"), 137: typed(DATA, *MOVED), 147: gathered,
    })),
    ("GATHER_ND", checks("gather_nd.cc", {
        34: inputs(2), 35: outputs, 51: typed(DATA, *MOVED), 60: typed(INDICES, "INT32"), 76: gathered_points,
    })),
    ("GREATER", (
        *_comparison(("FLOAT32", "INT32", "INT64", "INT8", "INT16"), 303),
        Row("comparisons.cc:562", WRONG, where(LEFT, INT16, always("Prepare works out the factors of int8 alone"))),
        int16_until("comparisons.cc:303", "2025-03-17", LEFT),
    )),
    ("GREATER_EQUAL LESS LESS_EQUAL", _comparison(("FLOAT32", "INT32", "INT64", "INT8"), 381)),
    ("HARD_SWISH", (
        *checks("hard_swish_common.cc", {38: inputs(1), 39: outputs, 68: where(DATA, INT8, exponent_at_most_zero)}),
        Row("hard_swish.cc:61", INVOKE, typed(DATA, *MOVED)),
    )),
    ("IF", checks("if.cc", {53: given(LEFT), 61: typed(LEFT, "BOOL"), 62: single_value(LEFT), 79: subgraphs_of_if})),
    ("L2_NORMALIZATION", (
        *checks("l2norm.cc", {
            44: inputs(1), 45: outputs, 55: ranked(DATA, 0, 4), 57: typed(OUTPUT, *MOVED),
            59: same_type(DATA, OUTPUT), 68: no_activation,
        }),
        Row("l2norm.cc:119", WRONG, where(OUTPUT, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
    ("L2_POOL_2D", checks("l2_pool_2d.cc", {
        44: inputs(1), 45: outputs, 52: ranked(DATA, 4, 4), 53: ranked(OUTPUT, 4, 4), 54: same_type(DATA, OUTPUT),
        71: typed(DATA, *FLOAT),
    })),
    ("LEAKY_RELU", (
        *checks("leaky_relu_common.cc", {35: inputs(1), 36: outputs, 43: same_type(DATA, OUTPUT)}),
        Row("tensorflow/lite/kernels/internal/common.cc:67", HALTS_INVOKE, where(DATA, INTEGER, falling),
            until="2026-03-31"),
        Row("leaky_relu.cc:82", INVOKE, typed(DATA, *NUMBERS)),
    )),
    ("LOGICAL_AND LOGICAL_OR", (
        *rows(INVOKE, "logical_common.cc", {31: touched(LEFT), 33: touched(SECOND)}),
        *rows(WRONG, "logical_common.cc", {41: typed(LEFT, "BOOL"), 43: typed(SECOND, "BOOL")}),
        _STRETCHED,
    )),
    ("LOGICAL_NOT", (*_ELEMENTWISE, Row("elementwise.cc:201", INVOKE, typed(DATA, "BOOL")))),
    ("LOGISTIC", (
        *checks("logistic_common.cc", {
            39: given(DATA), 42: given(OUTPUT), 46: where(DATA, INT8, where(OUTPUT, INT8, pointed(OUTPUT, -128))),
        }),
        *_sigmoid("logistic_common.cc", 44, 70, 101, "logistic.cc:98"),
        Row(f"{INNER}/logistic.h:54", WRONG, where(DATA, INT8, scaled(OUTPUT, 1 / 256, -128))),
    )),
    ("LOG_SOFTMAX", (
        *checks("log_softmax.cc", {
            49: inputs(1), 50: outputs, 57: same_type(DATA, OUTPUT), 59: same_shape(DATA, OUTPUT),
            72: where(DATA, INT8, scaled(OUTPUT, 1 / 16, 127)),
        }),
        Row(ABOVE_ONE, ABORTS_PREPARE, where(DATA, INT8, above_one)),
        Row("log_softmax.cc:136", INVOKE, typed(DATA, *MOVED)),
    )),
    ("MEAN", (
        _FEW_AXES,
        Row("reduce.cc", REFERENCE, always("MEAN has no CMSIS-NN kernel"), cause="mean", layer=OfLayer(
            "converters write it as MEAN, which has no CMSIS-NN kernel",
            sure=False,
        )),
        Row("reduce_common.cc:235", PREPARE, touched(AXIS)),
        *_reduction(types=NUMBERS, types_at=346),
        Row("tensorflow/lite/kernels/internal/reference/reduce.h:352", ABORTS_INVOKE, image_mean),
        Row("reduce_common.cc:324", INVOKE, where(DATA, FLOAT, reduced_axes)),
    )),
    ("MIRROR_PAD", (
        *checks("mirror_pad.cc", {182: padded_axes}, {155: typed(OUTPUT, *MOVED)}),
        Row("mirror_pad.cc:75", WRONG, typed(SECOND, *INDEX_TYPES)),
    )),
    ("NEG", (Row("neg.cc:44", INVOKE, typed(DATA, *FLOAT)),)),
    ("PACK", (
        *rows(INVOKE, "pack.cc", {59: packed, 101: typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32", "INT64")}),
        int16_until("pack.cc:101", "2025-08-20", OUTPUT),
    )),
    ("PRELU", (
        *checks("prelu_common.cc", {
            90: given(DATA), 92: given(SECOND), 94: given(OUTPUT),
        }),
        Row("prelu_common.cc:101", PREPARE, where(OUTPUT, INT16, typed(SECOND, "INT8")), since="2025-09-09"),
        int16_until("prelu.cc:75", "2025-09-09"),
        Row("prelu.cc:75", INVOKE, typed(DATA, *NUMBERS)),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, where(DATA, FLOAT, ranked(DATA, 0, 4))),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, ranked(DATA, 0, 4), until=ANY_RANK, cause="rank"),
    )),
    ("QUANTIZE", checks("quantize_common.cc", {
        36: inputs(1), 37: outputs, 42: given(DATA), 44: given(OUTPUT), 48: with_steps(OUTPUT), 54: one_scale,
        56: typed(DATA, "FLOAT32", "INT32", "INT16", "INT8", "UINT8"),
        60: typed(OUTPUT, "INT8", "INT16", "INT32", "UINT8"),
    }, {116: quantized_pairs})),
    ("REDUCE_ALL", (
        Row("reduce_common.cc:268", PREPARE, typed(DATA, "BOOL")),
        *_reduction(types=("BOOL",), types_at=442, same_at=417),
        Row("reduce_common.cc:429", INVOKE, reduced_axes),
    )),
    ("REDUCE_MAX REDUCE_MIN", _EXTREME),
    ("RELU", (
        *checks("activations_common.cc", {
            95: given(DATA), 98: given(OUTPUT),
        }),
        Row("activations_common.cc:103", PREPARE, where(DATA, INT16, pointed(DATA, 0)), since="2025-03-21"),
        Row("activations_common.cc:104", PREPARE, where(DATA, INT16, pointed(OUTPUT, 0)), since="2025-03-21"),
        int16_until("activations.cc:73", "2025-03-21"),
        Row("activations.cc:73", INVOKE, typed(DATA, *NUMBERS)),
    )),
    ("RELU6", (
        Row("activations_common.cc:122", PREPARE, given(DATA)),
        int16_until("activations.cc:121", "2024-09-26"),
        Row("activations.cc:121", INVOKE, typed(DATA, *NUMBERS)),
        Row("activations.cc:105", WRONG, where(DATA, INTEGER, same_steps(DATA, OUTPUT)), cause="unequal-scales"),
    )),
    ("RESHAPE", checks("reshape_common.cc", {
        88: inputs(1, 2), 89: outputs, 77: same_type(DATA, OUTPUT), 78: same_elements,
    })),
    ("RESIZE_BILINEAR", checks("resize_bilinear.cc", {
        36: inputs(2), 37: outputs, 46: ranked(DATA, 4, 4), 47: ranked(SIZES, 1, 1), 49: typed(SIZES, "INT32"),
        52: stored(SIZES), 58: aligned_once,
    }, {103: typed(OUTPUT, *MOVED)})),
    ("RESIZE_NEAREST_NEIGHBOR", (
        *checks("resize_nearest_neighbor.cc", {
            38: inputs(2), 39: outputs, 50: ranked(DATA, 4, 4), 51: ranked(SIZES, 1, 1), 52: typed(SIZES, "INT32"),
            53: two_sizes, 57: stored(SIZES),
        }, {108: typed(OUTPUT, *NUMBERS)}),
        Row("resize_nearest_neighbor.cc:81", WRONG, centred, until="2026-02-10"),
    )),
    ("REVERSE_V2", (
        *checks("reverse.cc", {47: inputs(2), 48: outputs, 60: ranked(AXIS, 1, 1), 61: ranked(DATA, 0, MOST_AXES)}),
        Row(
            "reverse.cc:62",
            PREPARE,
            lambda view: (
                "more axes than dimensions" if prod(AXIS.of(view).shape) > len(DATA.of(view).shape) else ""
            ),
        ),
        *checks("reverse.cc", {
            68: typed(DATA, "INT32", "FLOAT32", "UINT8", "INT8", "INT16", "INT64", "BOOL"), 74: typed(AXIS, "INT32"),
            79: same_type(DATA, OUTPUT),
        }, {105: axis_within(AXIS, DATA), 117: contiguous}),
    )),
    ("ROUND", _float_curve("round.cc", 38, given_at=(34, 37), type_at=40)),
    ("RSQRT", (
        *_ABS_RSQRT,
        Row("elementwise.cc:358", INVOKE, typed(DATA, *NUMBERS)),
        int16_until("elementwise.cc:358", "2023-03-02"),
    )),
    ("SELECT_V2", (
        *checks("select.cc", {
            78: inputs(3), 79: outputs, 95: typed(LEFT, "BOOL"), 96: same_type(SECOND, THIRD), 110: selected_shapes,
        }, {176: typed(SECOND, *NUMBERS)}),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, selected_ranks, until=ANY_RANK, cause="broadcast"),
    )),
    ("SHAPE", checks("shape.cc", {39: inputs(1), 40: outputs}, {51: typed(OUTPUT, "INT32")})),
    ("SLICE", (
        *checks("slice.cc", {50: inputs(3), 51: outputs}),
        *rows(HALTS_PREPARE, "slice.cc", {
            67: same_type(DATA, OUTPUT), 68: same_type(SECOND, THIRD), 69: typed(SECOND, *INDEX_TYPES),
            71: ranked(SECOND, 1, 1), 72: ranked(THIRD, 1, 1), 73: same_shape(SECOND, THIRD), 74: ranked(DATA, 0, 5),
        }),
        *rows(INVOKE, "slice.cc", {
            109: typed(SECOND, *INDEX_TYPES), 151: typed(DATA, "FLOAT32", "INT32", "INT8", "INT16", "BOOL"),
        }),
        type_until("BOOL", "slice.cc:151", "2023-03-22"),
        Row(f"{RUNTIME_SHAPE}:113", ABORTS_INVOKE, ranked(DATA, 0, 5)),
    )),
    ("SPACE_TO_BATCH_ND", _blocks("space_to_batch_nd.cc", 51, 64, 109)),
    ("SPACE_TO_DEPTH", checks("space_to_depth.cc", {
        40: inputs(1), 41: outputs, 52: ranked(DATA, 4, 4), 55: typed(OUTPUT, *MOVED),
        57: same_type(DATA, OUTPUT), 65: planes_fit,
    })),
    ("SPLIT", checks("split.cc", {
        73: given(LEFT), 78: stored(LEFT),
    }, {94: axis_within(LEFT, SECOND), 111: typed(SECOND, *_SPLIT_TYPES)})),
    ("SPLIT_V", checks("split_v.cc", {
        75: inputs(3), 82: stored(THIRD),
    }, {97: axis_within(THIRD, DATA), 114: typed(DATA, *_SPLIT_TYPES)})),
    ("SQUARED_DIFFERENCE", (
        *checks("squared_difference.cc", {91: inputs(2), 92: outputs, 106: same_type(LEFT, SECOND)}),
        *(
            Row(f"squared_difference.cc:{line}", PREPARE, where(LEFT, INT16, pointed(operand, 0)))
            for line, operand in enumerate((LEFT, SECOND, OUTPUT), 136)
        ),
        Row(BELOW_ONE, ABORTS_PREPARE, where(LEFT, INTEGER, squared_factors)),
        Row("squared_difference.cc:254", INVOKE, typed(OUTPUT, "FLOAT32", "INT32", "INT8", "INT16")),
        _STRETCHED,
    )),
    ("SQUEEZE", (
        *checks("squeeze.cc", {48: inputs(1), 49: outputs, 61: ranked(DATA, 0, 8), 74: squeezed}),
        Row("squeeze.cc:83", ABORTS_PREPARE, squeezed_output),
        Row("squeeze.cc:107", INVOKE, same_bytes),
    )),
    ("STRIDED_SLICE", (
        *checks("strided_slice_common.cc", {139: inputs(4), 140: outputs, 142: ranked(DATA, 0, 4)}),
        *asked_since(CONSTANT_CHECKS, *(
            Row(f"strided_slice_common.cc:{line}", PREPARE, stored(KernelOperand(position, f"input {position}")))
            for position, line in ((1, 144), (2, 146), (3, 148))
        )),
        Row("strided_slice_common.cc:119", PREPARE, strided),
        Row("strided_slice.cc:78", INVOKE, typed(OUTPUT, "FLOAT32", "INT8", "INT16", "INT32", "BOOL")),
        type_until("BOOL", "strided_slice.cc:78", "2023-03-22", OUTPUT),
    )),
    ("SUB", (
        *checks("sub_common.cc", {90: given(LEFT), 93: given(SECOND), 96: given(OUTPUT)}),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(float)), until="2023-02-16"),
        Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(single)), since="2023-02-16"),
        Row(ACTIVATION, PREPARE, activation_fits),
        *(
            Row(f"sub_common.cc:{line}", PREPARE, where(OUTPUT, ("INT32",), no_steps(operand)))
            for line, operand in ((103, LEFT), (105, SECOND), (107, OUTPUT))
        ),
        Row("sub.cc:194", INVOKE, typed(OUTPUT, "FLOAT32", "INT32", "INT8", "INT16")),
        Row("sub.cc:194", INVOKE, where(OUTPUT, ("INT32",), always("its output is INT32")), until="2025-06-04"),
        *(Row("sub.cc:187", WRONG, same_type(operand, OUTPUT)) for operand in (LEFT, SECOND)),
    )),
    ("SUM", (
        _FEW_AXES,
        Row("reduce_common.cc:235", PREPARE, touched(AXIS)),
        *_reduction(types=NUMBERS, types_at=406, same_at=368),
        Row("reduce_common.cc:381", INVOKE, where(DATA, FLOAT, reduced_axes)),
    )),
    ("TANH", (
        *checks("tanh.cc", {52: inputs(1), 53: outputs}),
        *_sigmoid("tanh.cc", 61, 89, 123, "tanh.cc:186"),
        Row(f"{INNER}/tanh.h:56", WRONG, where(DATA, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
    ("UNPACK", (
        Row("unpack.cc:96", INVOKE, typed(DATA, *_SPLIT_TYPES)),
        int16_until("unpack.cc:96", "2025-03-17"),
    )),
    ("WHILE", (Row("while.cc:65", PREPARE, subgraphs_of_while),)),
    ("ZEROS_LIKE", checks("zeros_like.cc", {31: inputs(1), 32: outputs}, {74: typed(DATA, "INT64", "INT32", *MOVED)})),
)  # fmt: skip
"""Operators and the checks of their kernels, in the order of names."""

NEW_OPERATORS = {
    "EMBEDDING_LOOKUP": "2023-07-26",
    "BATCH_MATMUL": "2023-09-06",
    "REVERSE_V2": "2025-07-10",
    "REDUCE_MIN": "2025-08-05",
    "DYNAMIC_UPDATE_SLICE": "2025-11-10",
    "REDUCE_ALL": "2026-01-08",
}
"""Operators that a resolver can add from a day on (lite/micro/micro_mutable_op_resolver.h); all others since before."""


def _decodes(view: OperatorView) -> tuple[bytes, ...]:
    """The first bytes of the second tensor of each pair that TFLM_DECODE reads: kind and version of the decoding."""
    pairs = [view.input(position) for position in range(1, len(view.operator.inputs), 2)]
    spans = (view.model.buffers[tensor.buffer] for tensor in pairs if tensor is not None)
    return tuple(bytes(view.model.data[span.offset : span.offset + min(span.length, 2)]) for span in spans)


def paired(view: OperatorView) -> Objection | None:
    """Two inputs for each output."""
    inputs_, outputs_ = len(view.operator.inputs), len(view.operator.outputs)
    text = f"it has {inputs_} inputs and {outputs_} outputs; two inputs for each output are taken"
    return None if outputs_ and inputs_ == 2 * outputs_ else text


def encoded_constants(view: OperatorView) -> Objection | None:
    """The file holds every input."""
    tensors = map(view.input, range(len(view.operator.inputs)))
    return None if all(map(view.constant, tensors)) else "an input is computed; constants alone are taken"


def known_decoding(view: OperatorView) -> Objection | None:
    """Every pair is of version 1 and of a kind that the kernel decodes."""
    heads = _decodes(view)
    if any(len(head) < 2 for head in heads):
        raise Unpredictable("the table of a decoding has less than the 16 bytes that the kernel reads")
    bad = [head for head in heads if head[1] != 1 or head[0] not in DECODE_STATES]
    if not bad:
        return None
    return f"its decoding is of kind {bad[0][0]} and version {bad[0][1]}; kinds 0, 1 and 2 of version 1 are taken"


DECODE_STATES = {0: 36, 1: 28, 2: 40}
"""Bytes of DecodeStateLut, DecodeStateHuffman and DecodeStatePrune by the kind of decoding (K/decode_state.h:78)."""
PRUNE = 2


class CustomOperator(NamedTuple):
    """A custom operator that TensorFlow Lite Micro itself has a kernel for."""

    since: str
    """Day of the commit that brought the resolver's method, ISO 8601."""
    limits: tuple[KernelLimit, ...] = ()
    """What its kernel checks."""


CUSTOM: dict[str, CustomOperator] = {
    "CIRCULAR_BUFFER": CustomOperator("2021-04-09"),
    "SignalDelay": CustomOperator("2023-07-12"),
    "SignalEnergy": CustomOperator("2023-07-13"),
    "SignalFftAutoScale": CustomOperator("2023-07-19"),
    "SignalFilterBank": CustomOperator("2023-07-14"),
    "SignalFilterBankLog": CustomOperator("2023-07-14"),
    "SignalFilterBankSpectralSubtraction": CustomOperator("2023-07-14"),
    "SignalFilterBankSquareRoot": CustomOperator("2023-07-14"),
    "SignalFramer": CustomOperator("2023-07-11"),
    "SignalIrfft": CustomOperator("2023-07-20"),
    "SignalOverlapAdd": CustomOperator("2023-07-11"),
    "SignalPCAN": CustomOperator("2023-08-23"),
    "SignalRfft": CustomOperator("2023-06-21"),
    "SignalStacker": CustomOperator("2023-07-12"),
    "SignalWindow": CustomOperator("2023-06-14"),
    "TFLM_DECODE": CustomOperator(
        "2025-10-17",
        (*checks("decode.cc", {56: paired, 93: encoded_constants, 96: known_decoding}),),
    ),
    "TFLite_Detection_PostProcess": CustomOperator("2021-04-09"),
}
"""By the name in the file. Of all but TFLM_DECODE, checks and memory are not written down."""


def decode(p: Preparation) -> None:
    """K/decode.cc:58-126: pointers, then the state of each output, and for pruned channels their zero-points.

    The memory of the other custom operators is not known.
    """
    p.memory_known = p.view.operator.custom_code == "TFLM_DECODE"
    if not p.memory_known:
        return
    p.persistent.append(WORD * len(p.view.operator.outputs))
    for position, head in enumerate(_decodes(p.view)):
        p.persistent.append(DECODE_STATES[head[0]])
        output = p.view.output(position)
        stored = output.quantization if output is not None else None
        if head[0] == PRUNE and stored is not None and len(stored.scales) > 1 and any(stored.zero_points):
            p.persistent.append(len(stored.scales))


LIMITS: dict[str, tuple[KernelLimit, ...]] = {op: rows for ops, rows in _TABLE for op in ops.split()}
"""Checks of every operator that runs reference code; a resolver can add these operators and those of CMSIS-NN."""
SIZED = Row("tensorflow/lite/micro/memory_helpers.cc:47", PREPARE, sized)
"""A check of the allocator, for every operator."""
DYNAMIC = Row("tensorflow/lite/micro/micro_interpreter_graph.cc:167", PREPARE, dynamic, since="2025-08-22")
"""A check of the interpreter behind every Prepare."""
SOFTMAX_RANGE = (Row(ABOVE_ONE, ABORTS_PREPARE, where(DATA, INT8, above_one)),)
"""K/softmax_common.cc, CalculateSoftmaxParams, behind its checks."""


def _scales(data: KernelOperand, axis: int) -> tuple[KernelLimit, ...]:
    """PopulateConvolutionQuantizationParams (lite/kernels/kernel_util.cc:214). Float layers do not reach it.

    `axis` is that of the channels.
    """
    rows = (
        *checks(
            UTIL,
            {
                221: with_steps(data),
                223: with_steps(SECOND),
                239: lambda view: typed(data, *INTEGER)(view) if scale_count(view) > 1 else "",
                241: lambda view: typed(SECOND, "INT8", "INT4")(view) if scale_count(view) > 1 else "",
                244: lambda view: channel_scales(view, axis),
                405: where(data, (*INTEGER, "UINT8"), typed(OUTPUT, *INTEGER, "UINT8")),
            },
        ),
        Row(ACTIVATION, PREPARE, activation_fits),
    )
    return tuple(row._replace(condition=unless(data, FLOAT, row.condition)) for row in rows)  # fmt: skip


CONVOLUTION_SCALES, DEPTHWISE_SCALES, TRANSPOSED_SCALES = _scales(DATA, 0), _scales(DATA, 3), _scales(THIRD, 0)
"""Of CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV, whose third input is the data."""
PADDED = (Row("pad.cc:100", INVOKE, typed(DATA, *NUMBERS, "INT32")),)
"""Eval of PAD and PADV2, in K/cmsis_nn/pad.cc:129 too."""
MULTIPLIED = (Row("mul.cc:55", INVOKE, typed(LEFT, *NUMBERS, "INT32")),)
"""Eval of MUL, in K/cmsis_nn/mul.cc:128 too."""
LARGEST = (Row("maximum_minimum.cc:55", INVOKE, typed(OUTPUT, *NUMBERS, *INDEX_TYPES)),)
"""Eval of MAXIMUM and MINIMUM, in K/cmsis_nn/maximum_minimum.cc too."""
DENSE_BIAS = (Row(f"{UTIL}:322", PREPARE, bias_fits),)
"""GetQuantizedConvolutionMultipler, of a dense layer with one scale."""
FUSED_ACTIVATION = (Row(ACTIVATION, PREPARE, activation_fits),)
"""CalculateActivationRangeQuantized."""
DENSE_ACTIVATION = (Row(f"{UTIL}:405", PREPARE, typed(OUTPUT, *INTEGER, "UINT8")), *FUSED_ACTIVATION)
"""The same for a dense layer, whose type it asks for too."""

POOLED_ACTIVATION = (
    Row(f"{UTIL}:405", WRONG, typed(OUTPUT, *INTEGER, "UINT8")),
    Row(ACTIVATION, WRONG, activation_fits),
)
"""The same in K/pooling_common.cc:82, which drops the error."""

SUM_FACTORS = (
    Row(BELOW_ONE, ABORTS_PREPARE, where(OUTPUT, INTEGER, pair_factors(float))),
    Row(ACTIVATION, PREPARE, activation_fits),
)
"""CalculateOpDataAdd (K/add_common.cc:36) and CalculateOpData (K/cmsis_nn/add.cc:64)."""
