"""Pooling: MaxPool, AveragePool and the global ones."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.graph.window_attributes import window_misfit
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.spatial import SlidingWindow, window
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.lower.verdict import UNDECIDED, Cause, Decision, refused
from onnxlint_cmsis.types import Dims, KernelCall, Pair, Size


def lower_pool(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower pooling; filter is [1, h, w, 1]. A decision says why CMSIS-NN has no form for it."""
    call = pooling_call(graph, node, assume)
    if isinstance(call, Decision):
        return call
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    refusal = _not_expressible(graph, node, call, kind)
    return refusal or Layer(node, call, {}, 1, assumed)


def pooling_call(graph: Graph, node: Node, assume: Assumptions) -> KernelCall | Decision:
    """The window over the input as a call; attributes without an argument of the function are left out."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    if len(shape) not in (3, 4):
        return refused(Cause.RANK, f"CMSIS-NN pools over one or two dimensions, this one has {len(shape) - 2}")
    axes = len(shape) - 2
    wrong = window_misfit(node, axes, axes if _global(node) else len(node.ints("kernel_shape")))
    if wrong:
        return refused(Cause.ATTRIBUTE, wrong)
    average = "Average" in node.op_type
    plane = _plane(node, shape[2:])
    kind, _ = activation_type(graph, node.inputs[0], assume)
    return KernelCall(
        f"{'avgpool' if average else 'max_pool'}_{kind}",
        Dims(shape[0], plane.size.h, plane.size.w, shape[1]),
        Dims(1, plane.kernel.h, plane.kernel.w, 1),
        Dims(shape[0], plane.output.h, plane.output.w, shape[1]),
        plane.stride, plane.before, plane.after, plane.dilation,
    )  # fmt: skip


def _global(node: Node) -> bool:
    return node.op_type.startswith(("Global", "QLinearGlobal"))


def _plane(node: Node, size: tuple[Size, ...]) -> SlidingWindow:
    """The window; that of global pooling is the whole input."""
    if _global(node):
        return window(node, size, size)._replace(output=Pair(1, 1))
    return window(node, size, node.ints("kernel_shape"))


def _not_expressible(graph: Graph, node: Node, call: KernelCall, kind: str) -> Decision | None:
    """Why `cmsis_nn_pool_params` cannot express the layer; None where it can."""
    if call.dilation != (1, 1):
        text = f"its dilations are {call.dilation.h} and {call.dilation.w}; CMSIS-NN's pooling has none"
        return refused(Cause.ATTRIBUTE, text)
    if any(name and (name in graph.consumers or name in graph.outputs) for name in node.outputs[1:]):
        text = "its second output, the indices, is used; CMSIS-NN's pooling gives out the maxima only"
        return refused(Cause.ATTRIBUTE, text)
    if node.int("count_include_pad") and any(call.padding + call.pad_after):
        text = "it counts padding in the average (count_include_pad); CMSIS-NN divides by the inputs in the window"
        if node.int("ceil_mode"):
            return refused(Cause.ATTRIBUTE, f"{text}, and its ceil_mode rounds the output's size up")
        return in_plain_code(kind, "avgpool", Cause.ATTRIBUTE, text)
    return None
