"""Concatenation and transposition."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.dims import MAX_RANK, NO_DIMS, changes_layout_only, dims_of, is_image, ordered
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.stored_types import activation_type
from onnxlint_cmsis.model.graph import Graph, Node

LARGEST_U16 = 0xFFFF
"""Largest number that `uint16_t` holds, which arm_concatenation_s8_* count in."""


def lower_concat(graph: Graph, node: Node, assume: Assumptions) -> Layer | Decision:
    """Lower Concat of up to four axes, whose copies have up to 65535 elements; those of f32 and f16 any number."""
    layer = unweighted_layer(Function.CONCATENATION, graph, node, assume)
    kind = layer.call.types
    too_many = _too_many_axes(graph, node, f"arm_concatenation_{kind if assume.stays_float else 's8'}_[wxyz]")
    if too_many:
        return in_reference_code(kind, Function.CONCATENATION, too_many.cause, too_many.reason)
    runs, copies, row = _runs(graph, node)
    if not assume.stays_float and max(copies, row) > LARGEST_U16:
        text = f"its rows have more than {LARGEST_U16} elements; arm_concatenation_s8_x counts in 16 bits"
        return in_reference_code(kind, Function.CONCATENATION, Cause.RANK, text)
    return layer._replace(call=layer.call._replace(runs=runs))


def _runs(graph: Graph, node: Node) -> tuple[tuple[int, ...], int, int]:
    """Numbers of each operand that follow each other in the result, how many rows that has, and the numbers of one.

    No runs where a size of an operand is unknown; no rows and no numbers either where one of the result is.
    """
    shape = graph.shape(node.outputs[0])
    if not shape or None in shape:
        return (), 0, 0
    operands = [graph.shape(name) or () for name in node.inputs if name]
    axis = node.int("axis", 1) % len(shape)
    image = len(shape) > 2 and is_image(graph, node.outputs[0]) is not False
    order = (0, *range(2, len(shape)), 1) if image else tuple(range(len(shape)))
    outer, inner = order[: order.index(axis)], order[order.index(axis) :]
    rows, row = (prod(shape[position] or 0 for position in part) for part in (outer, inner))
    known = all(len(sizes) == len(shape) and None not in sizes for sizes in operands)
    runs = tuple(prod(sizes[position] or 0 for position in inner) for sizes in operands) if known else ()
    return runs, rows, row


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
    too_many = _too_many_axes(graph, node, f"arm_transpose_{kind if assume.stays_float else 's8'}")
    if too_many:
        return in_reference_code(kind, Function.TRANSPOSE, too_many.cause, too_many.reason)
    result = ordered(graph.shape(node.outputs[0]))
    call = KernelCall(Function.TRANSPOSE.entry(kind), ordered(shape), NO_DIMS, result, permutation=order)
    return Layer(node, call, {}, 1, assumed)


def _too_many_axes(graph: Graph, node: Node, function: str) -> Decision | None:
    shape = graph.shape(node.outputs[0])
    if not shape or len(shape) <= MAX_RANK:
        return None
    return no_kernel(Cause.RANK, f"it has {len(shape)} axes; {function} takes {MAX_RANK}")


def unweighted_layer(function: Function, graph: Graph, node: Node, assume: Assumptions) -> Layer:
    """A call with an input and an output alone."""
    data = node.inputs[operator_of(node).roles.first]
    kind, assumed = activation_type(graph, data, assume)
    source, result = dims_of(graph, data, node.outputs[0])
    call = KernelCall(function.entry(kind), source, NO_DIMS, result)
    return Layer(node, call, {}, 1, assumed)
