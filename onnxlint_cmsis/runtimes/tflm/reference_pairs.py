"""Checks of reference kernels of two operands or more."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.tflm.broken_conditions import ABORTS_INVOKE, ABORTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import CheckTable, Row, checks, int16_until, rows, type_until
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INT8, INT16, MOVED, NUMBERS
from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, OUTPUT, SECOND
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    all_inputs,
    always,
    any_zero,
    given,
    inputs,
    no_steps,
    outputs,
    plain_if_stretched,
    pointed,
    ranked,
    same_shape,
    same_steps,
    same_type,
    touched,
    typed,
    where,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, single
from onnxlint_cmsis.runtimes.tflm.revision_days import ANY_RANK
from onnxlint_cmsis.runtimes.tflm.rows import BELOW_ONE, RUNTIME_SHAPE, KernelLimit
from onnxlint_cmsis.runtimes.tflm.scale_conditions import (
    ACTIVATION,
    activation_fits,
    below_one,
    pair_factors,
    shared_factor,
    squared_factors,
    step_of,
    summed_factors,
)

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


PAIRS: CheckTable = (
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
    ("EQUAL NOT_EQUAL", _comparison(("BOOL", "FLOAT32", "INT32", "INT64", "INT8"), 120)),
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
    ("GREATER", (
        *_comparison(("FLOAT32", "INT32", "INT64", "INT8", "INT16"), 303),
        Row("comparisons.cc:562", WRONG, where(LEFT, INT16, always("Prepare works out the factors of int8 alone"))),
        int16_until("comparisons.cc:303", "2025-03-17", LEFT),
    )),
    ("GREATER_EQUAL LESS LESS_EQUAL", _comparison(("FLOAT32", "INT32", "INT64", "INT8"), 381)),
    ("LOGICAL_AND LOGICAL_OR", (
        *rows(INVOKE, "logical_common.cc", {31: touched(LEFT), 33: touched(SECOND)}),
        *rows(WRONG, "logical_common.cc", {41: typed(LEFT, "BOOL"), 43: typed(SECOND, "BOOL")}),
        _STRETCHED,
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
)  # fmt: skip
