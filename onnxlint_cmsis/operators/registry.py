"""All records of ONNX and TensorFlow Lite, and the one of a node of either format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.model.graph import TFLITE, Graph, Node
from onnxlint_cmsis.model.intervals import is_whole
from onnxlint_cmsis.operators.control import CONTROL, TFLITE_CONTROL
from onnxlint_cmsis.operators.curve import CURVES, TFLITE_CURVES
from onnxlint_cmsis.operators.microsoft import MICROSOFT_OPERATORS
from onnxlint_cmsis.operators.mixing import NORMALIZATIONS, REDUCTIONS, TFLITE_REDUCTIONS
from onnxlint_cmsis.operators.movement import SHAPING, SLICING, TFLITE_SHAPING
from onnxlint_cmsis.operators.pairwise import PAIRWISE, TFLITE_PAIRWISE
from onnxlint_cmsis.operators.quantization import PACT, QUANTIZATION
from onnxlint_cmsis.operators.record import Elements, Layout, NotFollowed, Operator, Risk, Sums
from onnxlint_cmsis.operators.weighted import CONVOLUTIONS, PRODUCTS, TFLITE_CONVOLUTIONS
from onnxlint_cmsis.operators.window import POOLING, RESIZING, TFLITE_POOLING

# All records of ONNX's operators, and the one of a node of either format.


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
        return TFLITE_OPERATORS.get(name, UNKNOWN)
    return OPERATORS.get((domain, name), UNKNOWN)


def operator_of(node: Node) -> Operator:
    """Record of a node's operator, UNKNOWN where there is none."""
    return operator_named(node.domain, node.op_type)


# Records of TensorFlow Lite's builtin operators.
#
# Those of TensorFlow Lite Micro are all here (lite/micro/micro_mutable_op_resolver.h), and some more that converters
# write; a builtin operator that is not locks the axes around it, with its name.


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


# Values that are the same in every run: constants, and what is computed from constants alone.


def derived_values(graph: Graph, *, sizes: bool = False) -> set[str]:
    """Outputs of the nodes that compute from constants alone, whatever their size; constants themselves excluded.

    With `sizes`, also of those that compute from sizes of tensors, and constants.
    """
    derived: set[str] = set()
    for node in graph.nodes:
        elements = operator_of(node).elements
        inputs = [name for name in node.inputs if name]
        known = all(name in graph.constants or name in derived for name in inputs)
        known |= sizes and elements is Elements.SIZES
        if inputs and known and elements not in (Elements.BODIES, Elements.RANDOM):
            derived.update(filter(None, node.outputs))
    return derived


# In which numbers a layer sums: its record says, or the types of its tensors do.


def sums_of(graph: Graph, node: Node) -> Sums | None:
    """FLOAT, INTEGERS or SCALED for a layer; None for other operators."""
    roles = operator_of(node).roles
    if roles.sums is not Sums.STORED:
        return roles.sums
    places = (*roles.data, *roles.weights)
    whole = {is_whole(graph.elem_type(node.inputs[place])) for place in places if place < len(node.inputs)}
    if whole == {False}:
        return Sums.FLOAT
    return Sums.INTEGERS if whole == {True} else Sums.SCALED
