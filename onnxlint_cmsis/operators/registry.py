"""All records of ONNX's operators, and the one of a node of either format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.graph.model import TFLITE, Node
from onnxlint_cmsis.operators.control_operators import CONTROL
from onnxlint_cmsis.operators.convolution_operators import CONVOLUTIONS
from onnxlint_cmsis.operators.curve_operators import CURVES
from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.microsoft_operators import MICROSOFT_OPERATORS
from onnxlint_cmsis.operators.normalization_operators import NORMALIZATIONS
from onnxlint_cmsis.operators.pact_operators import PACT
from onnxlint_cmsis.operators.pairwise_operators import PAIRWISE
from onnxlint_cmsis.operators.pooling_operators import POOLING
from onnxlint_cmsis.operators.product_operators import PRODUCTS
from onnxlint_cmsis.operators.quantization_operators import QUANTIZATION
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.reduction_operators import REDUCTIONS
from onnxlint_cmsis.operators.resizing_operators import RESIZING
from onnxlint_cmsis.operators.shaping_operators import SHAPING
from onnxlint_cmsis.operators.slicing_operators import SLICING

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
            MICROSOFT_OPERATORS,
        )
        for operator in family
    }
)
"""Records by domain and operator."""

NOT_KNOWN = NotFollowed("the operator is not known")
UNKNOWN = Operator("", NOT_KNOWN, Elements.COMPUTED, Risk.NONE, Layout.EITHER, new_lane=NOT_KNOWN)
"""Record of every operator that the registry does not have."""


def operator_named(domain: str, name: str) -> Operator:
    """Record of an operator, UNKNOWN where there is none; the default domain is the empty string.

    Records of TensorFlow Lite's operators are loaded with the first of them.
    """
    if domain == TFLITE:
        from onnxlint_cmsis.operators.tflite_registry import TFLITE_OPERATORS

        return TFLITE_OPERATORS.get(name, UNKNOWN)
    return OPERATORS.get((domain, name), UNKNOWN)


def operator_of(node: Node) -> Operator:
    """Record of a node's operator, UNKNOWN where there is none."""
    return operator_named(node.domain, node.op_type)
