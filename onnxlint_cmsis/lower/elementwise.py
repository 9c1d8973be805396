"""Operators that copy elements and that CMSIS-NN has no function for: Slice, Resize and Upsample."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import UNDECIDED, Cause, Decision, no_kernel
from onnxlint_cmsis.lower.reference_code import in_reference_code
from onnxlint_cmsis.lower.stored_types import activation_type, numbers_behind
from onnxlint_cmsis.model.graph import Graph, Node

NO_FUNCTION = "CMSIS-NN has no function for it"


def slice_decision(graph: Graph, node: Node, assume: Assumptions) -> Decision:
    """Reference code for a Slice with fixed starts, ends and steps."""
    fixed = all(numbers_behind(graph, name) is not None for name in node.inputs[1:] if name)
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
    """Tell if the node's factors match the sizes exactly: 2.4 makes 4 of 2, but does not repeat each element twice."""
    position = 1 if canonical(node) == "Upsample" or node.opset < 11 else 2
    given: object = node.attributes.get("scales", ())
    if node.has(position):
        numbers = numbers_behind(graph, node.inputs[position])
        if numbers is None:
            return False
        given = numbers
    axes = node.ints("axes") or range(len(factors))
    return given == () or (isinstance(given, tuple) and list(given) == [factors[axis] for axis in axes])


def _repeats(node: Node) -> bool:
    """Tell whether output i is input floor(i / factor) for every whole factor."""
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    rounding = node.text("nearest_mode", "round_prefer_floor")
    if canonical(node) == "Upsample" or node.opset < 11 or (mode == "asymmetric" and rounding == "floor"):
        return True
    return mode in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round_prefer")
