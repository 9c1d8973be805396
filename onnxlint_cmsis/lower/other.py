"""Softmax, concatenation and transposition."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import UNDECIDED, Layer
from onnxlint_cmsis.lower.layout import NO_DIMS, Shape, changes_layout_only, dims_of, is_image, ordered
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.quantization import activation_type
from onnxlint_cmsis.types import KernelCall

MAX_RANK = 4
"""Axes of `cmsis_nn_dims`."""
FLATTENING_OPSET = 13
"""Below it, Softmax runs over its axis and all that follow."""


def lower_softmax(graph: Graph, node: Node, assume: Assumptions) -> Layer | str:
    """Lower Softmax: `arm_softmax_*` runs over rows, which lie one after the other in memory."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    flattening = node.domain == "" and node.opset < FLATTENING_OPSET
    axis = node.int("axis", 1 if flattening else -1) % max(len(shape), 1)
    axes = set(range(axis, len(shape))) if flattening else {axis}
    image = is_image(graph, node.inputs[0]) if len(shape) > 2 else False
    orders = [(0, *range(2, len(shape)), 1)] if image is not False else []
    orders += [tuple(range(len(shape)))] if not image else []
    if not any(_rows(shape, axes, order) for order in orders):
        stored = "as stored (NHWC)" if image else "in memory"
        return f"it runs over axis {axis}, which is not the last {stored}; arm_softmax_s8 runs over rows"
    return _plain("softmax", graph, node, assume)


def _rows(shape: Shape, axes: set[int], order: tuple[int, ...]) -> bool:
    """Whether the axes may be the last ones in an order of storage; one of size 1, or of unknown, may be anywhere."""
    inside = [axis in axes for axis in order if shape[axis] not in (1, None)]
    return inside == sorted(inside)


def lower_concat(graph: Graph, node: Node, assume: Assumptions) -> Layer | str:
    """Lower Concat of up to four axes."""
    return _too_many_axes(graph, node, "arm_concatenation_s8_[wxyz]") or _plain("concatenation", graph, node, assume)


def lower_transpose_axes(graph: Graph, node: Node, assume: Assumptions) -> Layer | str | None:
    """Lower Transpose of up to four axes; one that only turns an image from NCHW to NHWC, or back, is no layer."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    order = node.ints("perm") or tuple(range(len(shape)))[::-1]
    moved = [axis for axis in order if axis < len(shape) and shape[axis] != 1]
    if moved == sorted(moved) or changes_layout_only(graph, node, order):
        return None
    refused = _too_many_axes(graph, node, "arm_transpose_s8")
    if refused:
        return refused
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    call = KernelCall(f"transpose_{kind}", ordered(shape), NO_DIMS, ordered(graph.shape(node.outputs[0])))
    return Layer(node, call, {}, 1, assumed)


def _too_many_axes(graph: Graph, node: Node, function: str) -> str:
    shape = graph.shape(node.outputs[0])
    return f"it has {len(shape)} axes; {function} takes {MAX_RANK}" if shape and len(shape) > MAX_RANK else ""


def _plain(stem: str, graph: Graph, node: Node, assume: Assumptions) -> Layer:
    """A call that is only an input and an output."""
    data = node.inputs[operands(node.domain, node.op_type).activation]
    kind, assumed = activation_type(graph, data, assume)
    source, result = dims_of(graph, data, node.outputs[0])
    call = KernelCall(f"{stem}_{kind}", source, NO_DIMS, result)
    return Layer(node, call, {}, 1, assumed)
