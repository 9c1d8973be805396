"""Operators of TensorFlow Lite Micro and the function that writes down what their kernel does."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator
from onnxlint_cmsis.runtimes.tflm import plain_kernels, plain_layer_kernels
from onnxlint_cmsis.runtimes.tflm.convolution_kernels import conv_2d, depthwise_conv_2d
from onnxlint_cmsis.runtimes.tflm.dense_kernels import batch_matmul, fully_connected
from onnxlint_cmsis.runtimes.tflm.elementwise_kernels import add, maximum, minimum, mul
from onnxlint_cmsis.runtimes.tflm.movement_kernels import pad, transpose
from onnxlint_cmsis.runtimes.tflm.pooling_kernels import average_pool_2d, max_pool_2d, softmax
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation
from onnxlint_cmsis.runtimes.tflm.recurrent_kernels import lstm, svdf
from onnxlint_cmsis.runtimes.tflm.reference_kernels import CUSTOM, LIMITS, custom, reference
from onnxlint_cmsis.runtimes.tflm.transpose_conv_kernel import transpose_conv

KERNELS: dict[str, Callable[[Preparation], None]] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "TRANSPOSE_CONV": transpose_conv,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    "AVERAGE_POOL_2D": average_pool_2d,
    "MAX_POOL_2D": max_pool_2d,
    "SOFTMAX": softmax,
    "ADD": add,
    "MUL": mul,
    "MAXIMUM": maximum,
    "MINIMUM": minimum,
    "PAD": pad,
    "PADV2": pad,
    "TRANSPOSE": transpose,
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}
"""Operators whose Prepare is written down."""


PLAIN: dict[str, Callable[[Preparation], None]] = {
    "CONV_2D": plain_layer_kernels.conv_2d,
    "DEPTHWISE_CONV_2D": plain_layer_kernels.depthwise_conv_2d,
    "TRANSPOSE_CONV": plain_layer_kernels.transpose_conv,
    "FULLY_CONNECTED": plain_layer_kernels.fully_connected,
    "BATCH_MATMUL": plain_layer_kernels.batch_matmul,
    "AVERAGE_POOL_2D": plain_kernels.pool,
    "MAX_POOL_2D": plain_kernels.pool,
    "SOFTMAX": plain_kernels.softmax,
    "ADD": plain_kernels.add,
    "MUL": plain_kernels.mul,
    "MAXIMUM": plain_kernels.extreme,
    "MINIMUM": plain_kernels.extreme,
    "PAD": plain_kernels.pad,
    "PADV2": plain_kernels.pad,
    "TRANSPOSE": plain_kernels.transpose,
    "SVDF": plain_kernels.svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": plain_kernels.lstm,
}
"""The same in a build without CMSIS-NN."""


def kernel_of(operator: TfliteOperator, *, with_cmsis_nn: bool = True) -> Callable[[Preparation], None] | None:
    """What writes an operator's kernel down; None where TensorFlow Lite Micro has no such operator."""
    op = operator.op
    if op == "CUSTOM":
        return custom if operator.custom_code in CUSTOM else None
    return (KERNELS if with_cmsis_nn else PLAIN).get(op, reference if op in LIMITS else None)
