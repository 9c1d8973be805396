"""Checks that a kernel of CMSIS-NN makes as the reference kernel does."""

from __future__ import annotations

from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.runtimes.tflm.broken_conditions import ABORTS_PREPARE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.check_rows import Row, checks
from onnxlint_cmsis.runtimes.tflm.element_types import FLOAT, INDEX_TYPES, INT8, NUMBERS
from onnxlint_cmsis.runtimes.tflm.operands import DATA, LEFT, OUTPUT, SECOND, THIRD, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import typed, unless, where, with_steps
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER
from onnxlint_cmsis.runtimes.tflm.rows import ABOVE_ONE, BELOW_ONE, KernelLimit, OfLayer
from onnxlint_cmsis.runtimes.tflm.scale_conditions import (
    ACTIVATION,
    UTIL,
    above_one,
    activation_fits,
    bias_fits,
    channel_scales,
    pair_factors,
    scale_count,
)

INT16_POINT = OfLayer("int16 activations have a zero-point other than 0", (Cause.ZERO_POINT_S16,))


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
