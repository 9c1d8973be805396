"""Concatenation and transposition."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.layout import NO_DIMS, changes_layout_only, dims_of, is_image, ordered
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.lower.plain_code import in_plain_code
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.lower.verdict import UNDECIDED, Cause, Decision, refused
from onnxlint_cmsis.types import KernelCall

MAX_RANK = 4
"""Axes of `cmsis_nn_dims`."""
LARGEST_U16 = 0xFFFF
"""Largest number that `uint16_t` holds, which arm_concatenation_s8_* count in."""


def lower_concat(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower Concat of up to four axes, whose copies have up to 65535 elements."""
    too_many = _too_many_axes(graph, node, "arm_concatenation_s8_[wxyz]")
    layer = unweighted_layer("concatenation", graph, node, assume)
    kind = layer.call.entry.rpartition("_")[2]
    if too_many:
        return in_plain_code(kind, "concatenation", too_many.cause, too_many.reason)
    if _long_rows(graph, node):
        text = f"its rows have more than {LARGEST_U16} elements; arm_concatenation_s8_x counts in 16 bits"
        return in_plain_code(kind, "concatenation", Cause.RANK, text)
    return layer


def _long_rows(graph: Graph, node: Node) -> bool:
    """Whether the size or number of a concatenation's copies exceeds 16 bits."""
    shape = graph.shape(node.outputs[0])
    if not shape or None in shape:
        return False
    sizes = [size or 0 for size in shape]
    axis = node.int("axis", 1) % len(sizes)
    image = len(sizes) > 2 and is_image(graph, node.outputs[0]) is not False
    order = (0, *range(2, len(sizes)), 1) if image else tuple(range(len(sizes)))
    outer = prod(sizes[each] for each in order[: order.index(axis)])
    return outer > LARGEST_U16 or prod(sizes) // max(outer, 1) > LARGEST_U16


def lower_transpose_axes(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision | None:
    """Lower Transpose of up to four axes; one that only turns an image from NCHW to NHWC, or back, is no layer."""
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return UNDECIDED
    order = node.permutation(len(shape))
    if order is None:
        return UNDECIDED
    moved = [axis for axis in order if shape[axis] != 1]
    if moved == sorted(moved) or changes_layout_only(graph, node, order):
        return None
    kind, assumed = activation_type(graph, node.inputs[0], assume)
    too_many = _too_many_axes(graph, node, "arm_transpose_s8")
    if too_many:
        return in_plain_code(kind, "transpose", too_many.cause, too_many.reason)
    result = ordered(graph.shape(node.outputs[0]))
    call = KernelCall(f"transpose_{kind}", ordered(shape), NO_DIMS, result, permutation=order)
    return Layer(node, call, {}, 1, assumed)


def _too_many_axes(graph: Graph, node: Node, function: str) -> Decision | None:
    shape = graph.shape(node.outputs[0])
    if not shape or len(shape) <= MAX_RANK:
        return None
    return refused(Cause.RANK, f"it has {len(shape)} axes; {function} takes {MAX_RANK}")


def unweighted_layer(stem: str, graph: Graph, node: Node, assume: Assumptions) -> Layer:
    """A call with an input and an output alone."""
    data = node.inputs[operands(node.domain, node.op_type).activation]
    kind, assumed = activation_type(graph, data, assume)
    source, result = dims_of(graph, data, node.outputs[0])
    call = KernelCall(f"{stem}_{kind}", source, NO_DIMS, result)
    return Layer(node, call, {}, 1, assumed)
