"""Checks of reference kernels that compute each value from one, or from those of its row."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.tflm.broken_conditions import (
    ABORTS_PREPARE,
    HALTS_INVOKE,
    HALTS_PREPARE,
    INVOKE,
    PREPARE,
    WRONG,
)
from onnxlint_cmsis.runtimes.tflm.check_rows import CheckTable, Row, checks, int16_until
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INT8, INT16, MOVED, NUMBERS
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    given,
    inputs,
    no_activation,
    outputs,
    pointed,
    ranked,
    same_shape,
    same_steps,
    same_type,
    typed,
    where,
    with_steps,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, quantized
from onnxlint_cmsis.runtimes.tflm.revision_days import BOOL_RESULTS
from onnxlint_cmsis.runtimes.tflm.rows import ABOVE_ONE, INNER, Condition, KernelLimit, Objection, condition
from onnxlint_cmsis.runtimes.tflm.scale_conditions import (
    above_one,
    exponent_at_most_zero,
    falling,
    gentle_scale,
    one_scale,
    power_of_two,
    quantized_pairs,
    scaled,
)


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


CURVES: CheckTable = (
    ("ABS", (*_ABS_RSQRT, Row("elementwise.cc:318", INVOKE, typed(DATA, *NUMBERS)))),
    ("CAST", (
        *checks("cast.cc", {29: inputs(1), 30: outputs, 36: given(DATA), 39: given(OUTPUT)}),
        *_told_since("2025-11-10", Row("cast.cc:110", INVOKE, typed(DATA, *_CAST, "BOOL"))),
        *_told_since("2025-11-10", Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST), until=BOOL_RESULTS)),
        Row("cast.cc:74", INVOKE, typed(OUTPUT, *_CAST, "BOOL")),
    )),
    ("CEIL", _float_curve("ceil.cc", 39, given_at=(35, 38), type_at=41)),
    ("COS LOG SIN SQRT SQUARE", (*_ELEMENTWISE, Row("elementwise.cc:201", INVOKE, typed(DATA, *FLOAT)))),
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
    ("ELU", checks("elu.cc", {85: inputs(1), 86: outputs, 93: same_type(DATA, OUTPUT)}, {139: typed(DATA, *MOVED)})),
    ("EXP", _float_curve("exp.cc", 33, given_at=(37, 40), type_at=41)),
    ("FLOOR", (Row("floor.cc:32", INVOKE, typed(DATA, *FLOAT)),)),
    ("HARD_SWISH", (
        *checks("hard_swish_common.cc", {38: inputs(1), 39: outputs, 68: where(DATA, INT8, exponent_at_most_zero)}),
        Row("hard_swish.cc:61", INVOKE, typed(DATA, *MOVED)),
    )),
    ("L2_NORMALIZATION", (
        *checks("l2norm.cc", {
            44: inputs(1), 45: outputs, 55: ranked(DATA, 0, 4), 57: typed(OUTPUT, *MOVED),
            59: same_type(DATA, OUTPUT), 68: no_activation,
        }),
        Row("l2norm.cc:119", WRONG, where(OUTPUT, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
    ("LEAKY_RELU", (
        *checks("leaky_relu_common.cc", {35: inputs(1), 36: outputs, 43: same_type(DATA, OUTPUT)}),
        Row("tensorflow/lite/kernels/internal/common.cc:67", HALTS_INVOKE, where(DATA, INTEGER, falling),
            until="2026-03-31"),
        Row("leaky_relu.cc:82", INVOKE, typed(DATA, *NUMBERS)),
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
    ("NEG", (Row("neg.cc:44", INVOKE, typed(DATA, *FLOAT)),)),
    ("QUANTIZE", checks("quantize_common.cc", {
        36: inputs(1), 37: outputs, 42: given(DATA), 44: given(OUTPUT), 48: with_steps(OUTPUT), 54: one_scale,
        56: typed(DATA, "FLOAT32", "INT32", "INT16", "INT8", "UINT8"),
        60: typed(OUTPUT, "INT8", "INT16", "INT32", "UINT8"),
    }, {116: quantized_pairs})),
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
    ("ROUND", _float_curve("round.cc", 38, given_at=(34, 37), type_at=40)),
    ("RSQRT", (
        *_ABS_RSQRT,
        Row("elementwise.cc:358", INVOKE, typed(DATA, *NUMBERS)),
        int16_until("elementwise.cc:358", "2023-03-02"),
    )),
    ("TANH", (
        *checks("tanh.cc", {52: inputs(1), 53: outputs}),
        *_sigmoid("tanh.cc", 61, 89, 123, "tanh.cc:186"),
        Row(f"{INNER}/tanh.h:56", WRONG, where(DATA, INT8, scaled(OUTPUT, 1 / 128, 0))),
    )),
)  # fmt: skip
