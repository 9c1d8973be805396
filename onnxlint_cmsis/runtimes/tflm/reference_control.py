"""Checks of kernels of variables and of subgraphs."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.tflm.broken_conditions import HALTS_INVOKE, HALTS_PREPARE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import CheckTable, Row, checks, rows
from onnxlint_cmsis.runtimes.tflm.control_conditions import (
    VARIABLE,
    fits_variable,
    no_outputs,
    single_value,
    subgraphs_of_if,
    subgraphs_of_while,
)
from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, OUTPUT, SECOND
from onnxlint_cmsis.runtimes.tflm.operator_conditions import given, inputs, outputs, typed

CONTROL: CheckTable = (
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
    ("IF", checks("if.cc", {53: given(LEFT), 61: typed(LEFT, "BOOL"), 62: single_value(LEFT), 79: subgraphs_of_if})),
    ("WHILE", (Row("while.cc:65", PREPARE, subgraphs_of_while),)),
)  # fmt: skip
