"""Names of TensorFlow Lite's builtin operators, and how each is read.

Those of TensorFlow Lite Micro are all here (lite/micro/micro_mutable_op_resolver.h), and some more that converters
write; a builtin operator that is not locks the axes around it, with its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.model.roles import Form, Roles, Stated, Sums
from onnxlint_cmsis.operators.control import TFLITE_CONTROL
from onnxlint_cmsis.operators.curve import TFLITE_CURVES
from onnxlint_cmsis.operators.mixing import TFLITE_REDUCTIONS
from onnxlint_cmsis.operators.movement import TFLITE_SHAPING
from onnxlint_cmsis.operators.pairwise import TFLITE_PAIRWISE
from onnxlint_cmsis.operators.record import NO_SHAPE_ARITHMETIC, OPAQUE, READS_ALL, Layout, Operator, alias
from onnxlint_cmsis.operators.weighted import CONV, CONV_TRANSPOSE, MATMUL, fully_connected
from onnxlint_cmsis.operators.window import TFLITE_POOLING


def _row(name: str, of: Operator, **facets: Any) -> Operator:
    """An operator that is read as one that ONNX has too."""
    return alias(name, TFLITE, of, layout=Layout.ORDERED, fold=NO_SHAPE_ARITHMETIC, **facets)


NOWHERE = Stated()
"""The shapes of the tensors tell."""
IMAGE = Roles(
    weights=(1,), form=Form.CHANNELS_LAST, sums=Sums.STORED, bias=2, channels_last=True, numbers={"group": NOWHERE}
)
"""Data, weights and bias (tensorflow/lite/kernels/conv.cc, depthwise_conv.cc)."""
TRANSPOSED = IMAGE._replace(
    data=(2,), form=Form.TRANSPOSED_LAST, bias=3, numbers={"group": NOWHERE, "result": Stated(input=0)}
)
"""Shape of the result, weights, data and bias (tensorflow/lite/kernels/transpose_conv.cc)."""
ROWS = Roles(weights=(1,), form=Form.ROWS, sums=Sums.STORED, bias=2)
"""Data, weights and bias (tensorflow/lite/kernels/fully_connected.cc)."""
FACTORS = Roles(data=(0, 1), numbers={"transA": Stated("adj_x"), "transB": Stated("adj_y")})
"""Two factors, whose numbers are not followed (tensorflow/lite/kernels/batch_matmul.cc)."""

LAYERS = (
    _row("CONV_2D", CONV, roles=IMAGE),
    _row("DEPTHWISE_CONV_2D", CONV, roles=IMAGE._replace(form=Form.DEPTHWISE_LAST)),
    _row("TRANSPOSE_CONV", CONV_TRANSPOSE, roles=TRANSPOSED),
    _row("FULLY_CONNECTED", MATMUL, axes=fully_connected, roles=ROWS),
    _row("BATCH_MATMUL", MATMUL, roles=FACTORS, values=OPAQUE, demand=READS_ALL),
)

TFLITE_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for family in (
            LAYERS,
            TFLITE_POOLING,
            TFLITE_CURVES,
            TFLITE_PAIRWISE,
            TFLITE_REDUCTIONS,
            TFLITE_SHAPING,
            TFLITE_CONTROL,
        )
        for operator in family
    }
)
"""Records by operator."""
