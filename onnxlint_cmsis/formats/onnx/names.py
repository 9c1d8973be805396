"""The record of each ONNX operator, by domain and name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.formats.onnx.microsoft_names import NAMES
from onnxlint_cmsis.operators.control import CONTROL
from onnxlint_cmsis.operators.convolution import CONVOLUTIONS
from onnxlint_cmsis.operators.curve import CURVES
from onnxlint_cmsis.operators.mixing import REDUCTIONS
from onnxlint_cmsis.operators.normalization import NORMALIZATIONS
from onnxlint_cmsis.operators.pact import PACT
from onnxlint_cmsis.operators.pairwise import PAIRWISE
from onnxlint_cmsis.operators.pooling import POOLING
from onnxlint_cmsis.operators.product import PRODUCTS
from onnxlint_cmsis.operators.quantization import QUANTIZATION
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.resizing import RESIZING
from onnxlint_cmsis.operators.shaping import SHAPING
from onnxlint_cmsis.operators.slicing import SLICING

OPERATORS: Mapping[tuple[str, str], Operator] = MappingProxyType(
    {
        (operator.domain, operator.name): operator
        for family in (
            CONVOLUTIONS,
            PRODUCTS,
            CURVES,
            PAIRWISE,
            POOLING,
            REDUCTIONS,
            NORMALIZATIONS,
            SHAPING,
            SLICING,
            RESIZING,
            QUANTIZATION,
            CONTROL,
            PACT,
            NAMES,
        )
        for operator in family
    }
)
"""Records by domain and operator."""
