"""Lowering to the functions for q7 and q15 of CMSIS 5.

Their scales are powers of two, so that a converter gives every tensor a new Q-format. A model with Q/DQ pairs is read
like a float model. No function clamps its output: Relu is a separate call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.convolution import lower_convolution
from onnxlint_cmsis.lower.dense import lower_dense
from onnxlint_cmsis.lower.epilogue import has_bias, linear_epilogue
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.layout import NO_DIMS, dims_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.other import lower_transpose_axes
from onnxlint_cmsis.lower.pads import lower_pad
from onnxlint_cmsis.lower.pool import lower_pool
from onnxlint_cmsis.lower.softmax import lower_softmax
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.lower.verdict import Cause, Decision, Verdict, refused
from onnxlint_cmsis.lower.without_function import INTEGERS, is_shape_arithmetic
from onnxlint_cmsis.operators.derived import derived_values
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.types import KernelCall

Rule = Callable[[Graph, Node, Assumptions], "Layer | Decision | None"]

NO_FUNCTION = "CMSIS 5 has no function for it in q7 or q15"
SUM = f"{NO_FUNCTION}; CMSIS-DSP's arm_add_q7 and arm_add_q15 add tensors of one Q-format"
GROUPS = "the functions for q7 and q15 have no groups but one for each channel"
ONLY_AT_ZERO = "arm_relu_q7 and arm_relu_q15 clamp at 0 alone"
WIDE = {
    "depthwise": "CMSIS 5 has no depthwise convolution in q15",
    "max_pool": "CMSIS 5 has no pooling in q15",
    "avgpool": "CMSIS 5 has no pooling in q15",
}
"""Stems of entry points for q7 alone, each with the reason why wider types are refused."""
CONVOLUTIONS = ("Conv", "ConvInteger", "QLinearConv", "FusedConv")
PRODUCTS = ("Gemm", "FusedGemm", "QGemm", "MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul")
POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "QLinearAveragePool")
CURVES = ("Sigmoid", "Tanh")


def legacy_records(graph: Graph, assumed: str) -> Iterator[LoweredLayer]:
    """The verdict on every node with something to compute; `assumed` (`q7`, `q15`, `q7q15`) is what float becomes."""
    derived = derived_values(graph)
    absorbed: set[int] = set()
    for node in graph.nodes:
        whole = node.inputs and node.outputs and node.inputs[0] and node.outputs[0]
        if not whole or node.index in absorbed or node.outputs[0] in derived:
            continue
        found = _lowered(graph, node, assumed)
        if isinstance(found, Decision):
            yield LoweredLayer(node, found.verdict, found.cause, found.reason)
        elif found is not None:
            ending = linear_epilogue(graph, found, derived)
            absorbed.update(each.index for each in ending.absorbed)
            biased = found.call._replace(bias=has_bias(node, ending) or bool(ending.fused))
            yield LoweredLayer(
                node, Verdict.CMSIS_NN, layer=found._replace(call=biased, fused=ending.fused), epilogue=ending
            )


def _lowered(graph: Graph, node: Node, assumed: str) -> Layer | Decision | None:
    if operator_of(node).free or is_shape_arithmetic(graph, node) or graph.elem_type(node.outputs[0]) in INTEGERS:
        return None
    rule = _rule(node)
    found = rule(graph, node, Assumptions("s8")) if rule else refused(Cause.NO_FUNCTION, NO_FUNCTION)
    if isinstance(found, Decision):
        return found if found.verdict is Verdict.UNDECIDED else refused(found.cause, found.reason)
    return None if found is None else _in_q(graph, found, assumed)


def _rule(node: Node) -> Rule | None:
    named: dict[str, Rule] = {
        **dict.fromkeys(CONVOLUTIONS, lower_convolution),
        **dict.fromkeys(PRODUCTS, lower_dense),
        **dict.fromkeys(POOLS, lower_pool),
        **dict.fromkeys(CURVES, _curve),
        **dict.fromkeys(("Relu", "Clip"), _clamp),
        **dict.fromkeys(("Add", "Sum"), _sum),
        "Softmax": lower_softmax,
        "Pad": _copied(lower_pad),
        "Transpose": _copied(lower_transpose_axes),
    }
    return named.get(node.op_type)


def _in_q(graph: Graph, layer: Layer, assumed: str) -> Layer | Decision:
    """A layer of s8 as the one of q7 or q15 that its activations ask for."""
    stem = layer.call.entry.rpartition("_")[0]
    kind, _ = activation_type(graph, layer.node.inputs[0], Assumptions(assumed))
    kind = {"s8": "q7", "s16": "q7q15"}.get(kind, kind)
    if stem == "convolve" and layer.groups != 1:
        return refused(Cause.GROUPS, GROUPS)
    if stem in ("batch_matmul", "transpose_conv"):
        return refused(Cause.NO_FUNCTION, NO_FUNCTION)
    if kind != "q7" and stem in WIDE:
        return refused(Cause.NO_FUNCTION, WIDE[stem])
    kind = "q15" if kind == "q7q15" and stem != "fully_connected" else kind
    return layer._replace(call=layer.call._replace(entry=f"{stem}_{kind}", per_channel=None))


def _clamp(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    return refused(Cause.ATTRIBUTE, ONLY_AT_ZERO) if node.is_op("Clip") else _elementwise(graph, node, assume, "relu")


def _curve(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    return _elementwise(graph, node, assume, "activation")


def _sum(_graph: Graph, _node: Node, _assume: Assumptions) -> Decision:
    return refused(Cause.NO_FUNCTION, SUM)


def _elementwise(graph: Graph, node: Node, assume: Assumptions, stem: str) -> Layer:
    """A function that works on each element, in place."""
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    source, result = dims_of(graph, node.inputs[0], node.outputs[0])
    return Layer(node, KernelCall(f"{stem}_{kind}", source, NO_DIMS, result), {}, 1, assumed)


def _copied(rule: Rule) -> Rule:
    """A node that only moves elements: nothing to compute, or no function."""

    def run(graph: Graph, node: Node, assume: Assumptions) -> Decision | None:
        found = rule(graph, node, assume)
        return refused(Cause.NO_FUNCTION, NO_FUNCTION) if isinstance(found, Layer) else found

    return run
