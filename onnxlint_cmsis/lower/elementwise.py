"""Operators that copy elements, and those that CMSIS-NN has no function for."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.layer import (
    MAX_RANK,
    NO_DIMS,
    UNDECIDED,
    Assumptions,
    Cause,
    Decision,
    Layer,
    changes_layout_only,
    dims_of,
    in_reference_code,
    is_image,
    no_kernel,
    ordered,
)
from onnxlint_cmsis.lower.quantization import activation_type, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node

# Operators that copy elements and that CMSIS-NN has no function for: Slice, Resize and Upsample.


NO_FUNCTION = "CMSIS-NN has no function for it"


def slice_decision(graph: Graph, node: Node, assume: Assumptions) -> Decision:
    """Reference code for a Slice with fixed starts, ends and steps."""
    fixed = all(_numbers(graph, name) is not None for name in node.inputs[1:] if name)
    if not fixed or not (node.ints("starts") or len(node.inputs) > 2):
        return no_kernel(Cause.OPERAND_COMPUTED, f"{NO_FUNCTION}, and its bounds are computed at run time")
    return _copied(graph, node, assume)


def resize_decision(graph: Graph, node: Node, assume: Assumptions) -> Decision:
    """Reference code repeats elements: nearest neighbours and whole factors. Sizes that are not known leave it open."""
    whole = "reference code repeats elements a whole number of times"
    if node.text("mode", "nearest") != "nearest":
        return no_kernel(Cause.NO_FUNCTION, f"{NO_FUNCTION}; {whole}")
    equally = no_kernel(Cause.NO_FUNCTION, f"{NO_FUNCTION}; its coordinates do not repeat each element equally often")
    if not _repeats(node):
        return equally
    old, new = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
    if old is None or new is None or None in old or None in new:
        return UNDECIDED
    sizes = [(a or 1, b or 1) for a, b in zip(old, new, strict=False)]
    if len(old) != len(new) or any(b % a for a, b in sizes):
        return no_kernel(Cause.NO_FUNCTION, f"{NO_FUNCTION}; {whole}")
    if not _factors_fit(graph, node, [b / a for a, b in sizes]):
        return equally
    return _copied(graph, node, assume)


def _copied(graph: Graph, node: Node, assume: Assumptions) -> Decision:
    kind, _ = activation_type(graph, node.inputs[0], assume)
    return in_reference_code(kind, "move", Cause.NO_FUNCTION, NO_FUNCTION)


def _factors_fit(graph: Graph, node: Node, factors: list[float]) -> bool:
    """Whether the node's factors match the sizes exactly: 2.4 makes 4 of 2, but does not repeat each element twice."""
    position = 1 if canonical(node) == "Upsample" or node.opset < 11 else 2
    given: object = node.attributes.get("scales", ())
    if node.has(position):
        numbers = _numbers(graph, node.inputs[position])
        if numbers is None:
            return False
        given = numbers
    axes = node.ints("axes") or range(len(factors))
    return given == () or (isinstance(given, tuple) and list(given) == [factors[axis] for axis in axes])


def _numbers(graph: Graph, tensor: str) -> tuple[int | float, ...] | None:
    constant = weights_behind(graph, tensor)
    return constant.values() if constant else None


def _repeats(node: Node) -> bool:
    """Whether output i is input floor(i / factor) for every whole factor."""
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    rounding = node.text("nearest_mode", "round_prefer_floor")
    if canonical(node) == "Upsample" or node.opset < 11 or (mode == "asymmetric" and rounding == "floor"):
        return True
    return mode in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round_prefer")


# Concatenation and transposition.


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
