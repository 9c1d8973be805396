"""Operators that no function of CMSIS-NN computes, and those that are nothing to compute."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.quantization import weights_behind

INTEGERS = frozenset({"int64", "int32", "bool"})
"""Element types of shape arithmetic, which is no layer."""
PASSIVE = frozenset(
    {
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"),  # the same bytes under another shape
        *("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Cast", "CastLike", "RequantShift"),
        *("Constant", "ConstantOfShape", "Shape", "Size"),
        *("If", "Loop", "Scan"),  # their bodies' nodes speak for themselves
    }
)
"""Operators that move and compute no values of their own at run time, or only choose how numbers are stored."""
LINEAR = ("Sub", "Div")
"""Like Add and Mul: with a constant operand a bias or a scale, which converters fold into a neighbour."""
CLAMP = "no layer in front takes it as its clamp, and arm_relu_q7 and arm_relu6_s8 know neither scale nor zero-point"
NO_FUNCTION = "CMSIS-NN has no function for it"
NO_S8_FUNCTION = "CMSIS-NN has no s8 function for it; arm_nn_activation_s16, which some releases have, is not followed"


def foreign_reason(graph: Graph, node: Node) -> str | None:
    """Why no function of CMSIS-NN computes a node that has no lowering; None where there is nothing to compute."""
    if node.op_type in PASSIVE or _is_shape_arithmetic(graph, node):
        return None
    if node.is_op("Relu", "Clip"):
        return CLAMP
    if node.is_op("Sigmoid", "Tanh"):
        return NO_S8_FUNCTION
    if node.is_op(*LINEAR) and any(weights_behind(graph, name) is not None for name in node.inputs):
        return None
    return NO_FUNCTION


def _is_shape_arithmetic(graph: Graph, node: Node) -> bool:
    """Whether nothing but integers goes in and out, as in arithmetic on shapes."""
    types = {graph.elem_type(name) for name in (*node.inputs[:1], *node.outputs[:1])}
    return types <= INTEGERS
