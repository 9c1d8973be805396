"""Pooling: MaxPool, AveragePool and the global ones."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.graph.window_attributes import window_misfit
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import UNDECIDED, Layer
from onnxlint_cmsis.lower.quantization import activation_type
from onnxlint_cmsis.lower.spatial import Window, window
from onnxlint_cmsis.types import Dims, KernelCall, Pair, Size


def lower_pool(graph: Graph, node: Node, assume: Assumptions) -> Layer | str:
    """Lower pooling; filter is [1, h, w, 1]. A text says why CMSIS-NN has no form for it."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    if len(shape) not in (3, 4):
        return f"CMSIS-NN pools over one or two dimensions, this one has {len(shape) - 2}"
    misfit = window_misfit(node, len(shape) - 2)
    if misfit or not (node.ints("kernel_shape") or _is_global(node)):
        return misfit or "it has no kernel_shape"
    average = "Average" in node.op_type
    plane = _plane(node, shape[2:])
    refused = _not_expressible(graph, node, plane)
    if refused:
        return refused
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    call = KernelCall(
        f"{'avgpool' if average else 'max_pool'}_{kind}",
        Dims(shape[0], plane.size.h, plane.size.w, shape[1]),
        Dims(1, plane.kernel.h, plane.kernel.w, 1),
        Dims(shape[0], plane.output.h, plane.output.w, shape[1]),
        plane.stride, plane.before, plane.after, plane.dilation,
    )  # fmt: skip
    return Layer(node, call, {}, 1, assumed)


def _plane(node: Node, size: tuple[Size, ...]) -> Window:
    """The window; that of global pooling is the input, whatever its size, and slides nowhere."""
    if _is_global(node):
        return window(node, size, size)._replace(output=Pair(1, 1))
    return window(node, size, node.ints("kernel_shape"))


def _is_global(node: Node) -> bool:
    return node.op_type.startswith(("Global", "QLinearGlobal"))


def _not_expressible(graph: Graph, node: Node, plane: Window) -> str:
    """Why `cmsis_nn_pool_params` cannot express the layer; empty where it can."""
    if plane.dilation != (1, 1):
        return f"its dilations are {plane.dilation.h} and {plane.dilation.w}; CMSIS-NN's pooling has none"
    if node.int("count_include_pad") and any(plane.before + plane.after):
        return "it counts padding in the average (count_include_pad); CMSIS-NN divides by the inputs in the window"
    if any(name and (name in graph.consumers or name in graph.outputs) for name in node.outputs[1:]):
        return "its second output, the indices, is used; CMSIS-NN's pooling gives out the maxima only"
    return ""
