"""Operators without a function of CMSIS-NN, and operators without anything to compute."""

from __future__ import annotations

from collections.abc import Collection

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.elementwise import NO_FUNCTION, resize_decision, slice_decision
from onnxlint_cmsis.lower.epilogue import CLAMPS, is_clamp
from onnxlint_cmsis.lower.means import window_of_largest, window_of_mean
from onnxlint_cmsis.lower.reference_code import CURVES, in_reference_code
from onnxlint_cmsis.lower.stored_types import activation_type, dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node

INTEGERS = frozenset({"int64", "int32", "bool"})
"""Element types of shape arithmetic, which is no layer."""


CLAMP = "no layer in front takes it as its clamp, and arm_relu_q7 and arm_relu6_s8 know neither scale nor zero-point"


CLAMP_SCALE = (
    "the scale changes between the layer in front and it, so that no kernel clamps along; arm_relu_q7 and arm_relu6_s8"
    " know neither scale nor zero-point"
)


NO_S8_FUNCTION = "CMSIS-NN has no s8 function for it"


S16_FUNCTION = "it can call arm_nn_activation_s16, which 4.0.0 and later have, and whose results are not known here"


def without_function(graph: Graph, node: Node, assume: Assumptions, clampable: Collection[str] = ()) -> Decision | None:
    """The verdict on a node without a lowering; None where there is nothing to compute.

    `clampable` are tensors of integers that functions with a clamp have written.
    """
    if operator_of(node).free or is_shape_arithmetic(graph, node):
        return None
    kind, _ = activation_type(graph, node.inputs[0], assume)
    name = canonical(node)
    if name in CLAMPS:
        return _clamp(graph, node, kind, clampable)
    if name == "Slice":
        return slice_decision(graph, node, assume)
    if name in ("Resize", "Upsample"):
        return resize_decision(graph, node, assume)
    if name in CURVES:
        of_curve = S16_FUNCTION if kind == "s16" else NO_S8_FUNCTION
        reason = of_curve if name in ("Sigmoid", "Tanh") else NO_FUNCTION
        return in_reference_code(kind, "lookup", Cause.NO_FUNCTION, reason)
    pool = "an average" if window_of_mean(graph, node) else "a max" if window_of_largest(graph, node) else ""
    pooled = f"{NO_FUNCTION}; {pool} pool of that window has one"
    return no_kernel(Cause.NO_FUNCTION, pooled if pool else NO_FUNCTION)


def _clamp(graph: Graph, node: Node, kind: str, clampable: Collection[str]) -> Decision:
    if not is_clamp(graph, node):
        return no_kernel(Cause.OPERAND_COMPUTED, "its bounds are computed at run time")
    behind = _behind_scale_alone(graph, node, clampable)
    cause = Cause.CLAMP_SCALE if behind else Cause.NO_FUNCTION
    return in_reference_code(kind, "requantize", cause, CLAMP_SCALE if behind else CLAMP)


def _behind_scale_alone(graph: Graph, node: Node, clampable: Collection[str]) -> bool:
    """Tell whether nothing but a change of scale keeps a clamp out of the function in front."""
    pair = graph.producers.get(node.inputs[0])
    if not dequantizes(pair) or pair is None or pair.inputs[0] not in clampable:
        return False
    producer = graph.producers[pair.inputs[0]]
    between = (pair.inputs[0], node.inputs[0], *(producer.inputs[:1] if quantizes(producer) else ()))
    return all(len(graph.consumers.get(tensor, ())) == 1 and tensor not in graph.ends for tensor in between)


def is_shape_arithmetic(graph: Graph, node: Node) -> bool:
    """Tell whether all inputs and outputs are integers, as in arithmetic on shapes."""
    types = {graph.elem_type(name) for name in (*node.inputs[:1], *node.outputs[:1])}
    return types <= INTEGERS
