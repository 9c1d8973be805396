"""Checks of reference kernels that reduce axes or windows."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.tflm.axis_conditions import axis_within, few_axes, image_mean, reduced_axes
from onnxlint_cmsis.runtimes.tflm.broken_conditions import ABORTS_INVOKE, ABORTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import REFERENCE, CheckTable, Row, checks, rows
from onnxlint_cmsis.runtimes.tflm.control_conditions import single_value
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INT8, MOVED, NUMBERS
from onnxlint_cmsis.runtimes.tflm.operands import AXIS, DATA, OUTPUT
from onnxlint_cmsis.runtimes.tflm.operator_conditions import (
    always,
    given,
    inputs,
    outputs,
    ranked,
    same_shape,
    same_steps,
    same_type,
    touched,
    typed,
    where,
)
from onnxlint_cmsis.runtimes.tflm.revision_days import SCRATCH_AXES
from onnxlint_cmsis.runtimes.tflm.rows import BELOW_ONE, KernelLimit, OfLayer
from onnxlint_cmsis.runtimes.tflm.scale_conditions import below_one, shared_factor, summed_factors


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


REDUCTIONS: CheckTable = (
    ("ARG_MAX ARG_MIN", (
        Row("arg_min_max.cc:90", INVOKE, typed(AXIS, "INT32")),
        Row("arg_min_max.cc:86", INVOKE, typed(OUTPUT, "INT32"), "ask for output_type=tf.int32, the default is int64"),
        Row("arg_min_max.cc:79", INVOKE, typed(DATA, *MOVED)),
    )),
    ("CUMSUM", (
        *checks("cumsum.cc", {
            48: inputs(2), 49: outputs, 58: typed(DATA, *MOVED), 60: typed(AXIS, "INT32"), 62: single_value(AXIS),
            64: ranked(DATA, 1, 99), 69: same_type(DATA, OUTPUT), 70: same_shape(DATA, OUTPUT),
        }),
        Row(BELOW_ONE, ABORTS_PREPARE, where(DATA, INT8, below_one(shared_factor, summed_factors))),
        Row("cumsum.cc:127", INVOKE, axis_within(AXIS, DATA)),
    )),
    ("L2_POOL_2D", checks("l2_pool_2d.cc", {
        44: inputs(1), 45: outputs, 52: ranked(DATA, 4, 4), 53: ranked(OUTPUT, 4, 4), 54: same_type(DATA, OUTPUT),
        71: typed(DATA, *FLOAT),
    })),
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
    ("REDUCE_ALL", (
        Row("reduce_common.cc:268", PREPARE, typed(DATA, "BOOL")),
        *_reduction(types=("BOOL",), types_at=442, same_at=417),
        Row("reduce_common.cc:429", INVOKE, reduced_axes),
    )),
    ("REDUCE_MAX REDUCE_MIN", _EXTREME),
    ("SUM", (
        _FEW_AXES,
        Row("reduce_common.cc:235", PREPARE, touched(AXIS)),
        *_reduction(types=NUMBERS, types_at=406, same_at=368),
        Row("reduce_common.cc:381", INVOKE, where(DATA, FLOAT, reduced_axes)),
    )),
)  # fmt: skip
