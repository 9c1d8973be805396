"""Lowering to the functions for q7 and q15 of CMSIS 5.

Their scales are powers of two, so that a converter gives every tensor a new Q-format. A model with Q/DQ pairs is read
like a float model. No function clamps its output: Relu is a separate call.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import Cause, Decision, no_kernel
from onnxlint_cmsis.lower.epilogue import has_bias, linear_epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import LoweredLayer, complete
from onnxlint_cmsis.lower.lowering_rules import LEGACY_LOWERINGS, NO_FUNCTION
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.lower.without_function import INTEGERS, is_shape_arithmetic
from onnxlint_cmsis.model.graph import Graph, Node

GROUPS = "the functions for q7 and q15 take no groups other than one for each channel"


WIDE = {
    Function.DEPTHWISE: "CMSIS 5 has no depthwise convolution in q15",
    Function.MAX_POOL: "CMSIS 5 has no pooling in q15",
    Function.AVERAGE_POOL: "CMSIS 5 has no pooling in q15",
}
"""Functions for q7 alone, each with the reason why wider types are refused."""


def legacy_records(graph: Graph, assumed: str) -> Iterator[LoweredLayer]:
    """The verdict on every node with something to compute; `assumed` (`q7`, `q15`, `q7q15`) is what float becomes."""
    derived = derived_values(graph)
    absorbed: set[int] = set()
    for node in graph.nodes:
        if not complete(node) or node.index in absorbed or node.outputs[0] in derived:
            continue
        outcome = _lowered(graph, node, assumed)
        if isinstance(outcome, Decision):
            yield LoweredLayer(node, outcome.verdict, outcome.cause, outcome.reason)
        elif outcome is not None:
            ending = linear_epilogue(graph, outcome, derived)
            absorbed.update(behind.index for behind in ending.absorbed)
            biased = outcome.call._replace(bias=has_bias(node, ending) or bool(ending.fused))
            yield LoweredLayer(
                node, Outcome.CMSIS_NN, layer=outcome._replace(call=biased, fused=ending.fused), epilogue=ending
            )


def _lowered(graph: Graph, node: Node, assumed: str) -> Layer | Decision | None:
    if operator_of(node).free or is_shape_arithmetic(graph, node) or graph.elem_type(node.outputs[0]) in INTEGERS:
        return None
    rule = LEGACY_LOWERINGS.get(canonical(node))
    outcome = rule(graph, node, Assumptions("s8")) if rule else no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    if isinstance(outcome, Decision):
        return outcome if outcome.verdict is Outcome.UNDECIDED else no_kernel(outcome.cause, outcome.reason)
    return None if outcome is None else _in_q(graph, outcome, assumed)


def _in_q(graph: Graph, layer: Layer, assumed: str) -> Layer | Decision:
    """A layer of s8 as the one of q7 or q15 that its activations ask for."""
    function = Function(layer.call.function)
    kind, _ = activation_type(graph, layer.node.inputs[0], Assumptions(assumed))
    kind = {"s8": "q7", "s16": "q7q15"}.get(kind, kind)
    if function is Function.CONVOLVE and layer.groups != 1:
        return no_kernel(Cause.GROUPS, GROUPS)
    if function in (Function.BATCH_MATMUL, Function.TRANSPOSE_CONV):
        return no_kernel(Cause.NO_FUNCTION, NO_FUNCTION)
    if kind != "q7" and function in WIDE:
        return no_kernel(Cause.NO_FUNCTION, WIDE[function])
    kind = "q15" if kind == "q7q15" and function is not Function.FULLY_CONNECTED else kind
    return layer._replace(call=layer.call._replace(entry=function.entry(kind), per_channel=None))
