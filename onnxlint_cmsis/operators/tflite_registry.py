"""Records of TensorFlow Lite's builtin operators.

Those of TensorFlow Lite Micro are all here (lite/micro/micro_mutable_op_resolver.h), and some more that converters
write; a builtin operator that is not locks the axes around it, with its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.tflite_control_operators import TFLITE_CONTROL
from onnxlint_cmsis.operators.tflite_convolution_operators import TFLITE_CONVOLUTIONS
from onnxlint_cmsis.operators.tflite_curve_operators import TFLITE_CURVES
from onnxlint_cmsis.operators.tflite_pairwise_operators import TFLITE_PAIRWISE
from onnxlint_cmsis.operators.tflite_pooling_operators import TFLITE_POOLING
from onnxlint_cmsis.operators.tflite_reduction_operators import TFLITE_REDUCTIONS
from onnxlint_cmsis.operators.tflite_shaping_operators import TFLITE_SHAPING

TFLITE_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for family in (
            TFLITE_CONVOLUTIONS,
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
