"""Pooling: MaxPool, AveragePool and the global ones."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Dims, Function, KernelCall, Pair
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.sliding_window import window
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.window_attributes import window_misfit


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
        return no_kernel(Cause.RANK, f"CMSIS-NN pools over one or two dimensions, this one has {len(shape) - 2}")
    axes = len(shape) - 2
    name = canonical(node)
    whole = name.startswith("Global")
    wrong = window_misfit(node, axes, axes if whole else len(node.ints("kernel_shape")))
    if wrong:
        return no_kernel(Cause.ATTRIBUTE, wrong)
    plane = window(node, shape[2:], shape[2:] if whole else node.ints("kernel_shape"))
    plane = plane._replace(output=Pair(1, 1)) if whole else plane
    kind, _ = activation_type(graph, node.inputs[0], assume)
    return KernelCall(
        (Function.AVERAGE_POOL if "Average" in name else Function.MAX_POOL).entry(kind),
        Dims(shape[0], plane.size.h, plane.size.w, shape[1]),
        Dims(1, plane.kernel.h, plane.kernel.w, 1),
        Dims(shape[0], plane.output.h, plane.output.w, shape[1]),
        plane.stride, plane.before, plane.after, plane.dilation,
    )  # fmt: skip


def _not_expressible(graph: Graph, node: Node, call: KernelCall, kind: str) -> Decision | None:
    """Why `cmsis_nn_pool_params` cannot express the layer; None where it can."""
    if call.dilation != (1, 1):
        text = f"its dilations are {call.dilation.h} and {call.dilation.w}; CMSIS-NN's pooling has none"
        return no_kernel(Cause.ATTRIBUTE, text)
    if any(name and (name in graph.consumers or name in graph.ends) for name in node.outputs[1:]):
        text = "its second output, the indices, is used; CMSIS-NN's pooling gives out the maxima only"
        return no_kernel(Cause.ATTRIBUTE, text)
    if node.int("count_include_pad") and any(call.padding + call.pad_after):
        text = "it counts padding in the average (count_include_pad); CMSIS-NN divides by the inputs in the window"
        if node.int("ceil_mode"):
            return no_kernel(Cause.ATTRIBUTE, f"{text}, and its ceil_mode rounds the output's size up")
        return in_reference_code(kind, Function.AVERAGE_POOL, Cause.ATTRIBUTE, text)
    return None
