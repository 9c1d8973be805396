"""Intervals where tensors keep their own scales: real numbers of the inputs, and steps of the result's scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.interval import Interval, exactly, number
from onnxlint_cmsis.algebra.number_types import SLACK, is_whole
from onnxlint_cmsis.algebra.spread import lay
from onnxlint_cmsis.operators.values.pairs import divide, multiply, subtract
from onnxlint_cmsis.operators.values.scaling import NEAR, in_steps
from onnxlint_cmsis.operators.values.value_view import DemandRule, LayerSum, ValueRule, ValueView

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Floats, Mask
    from onnxlint_cmsis.graph.model import Attribute, Node, StoredQuantization
    from onnxlint_cmsis.operators.roles import Roles

Likeness = Callable[["Node", ValueView], "Node"]
"""A node as ONNX would have it."""

CLAMPS = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Bounds of the activations that an operator may end in; the others compute something else."""
HALF = 0.5
SHORT_MULTIPLIER = 2.0**-14
"""Relative error of results in int16, whose multipliers have 16 bits (MultiplyByQuantizedMultiplier of int64)."""
WIDE = ("int16",)
"""Results of which one step of the scale says little of how far a function in fixed-point numbers is off."""


class RealView(ValueView):
    """Inputs of one node as real numbers."""

    def __init__(self, node: Node, view: ValueView) -> None:
        """`node` is the node of the file; rules ask in the name of one that is like it."""
        self.graph = view.graph
        self._node = node
        self._view = view

    def input(self, node: Node, position: int) -> Interval | None:
        """What an input holds, in real numbers."""
        return self._real(node, position, self._view.input(node, position))

    def part(self, node: Node, position: int) -> Interval | None:
        """Part that an input adds to a concatenation, in real numbers."""
        return self._real(node, position, self._view.part(node, position))

    def join(self, parts: Sequence[Interval | None], where: tuple[int, list[int]] | None, /) -> Interval | None:
        """Parts one after the other."""
        return self._view.join(parts, where)

    def layer_sum(self, node: Node) -> LayerSum | None:
        """Sum of a layer, in its own unit."""
        return self._view.layer_sum(node)

    def roles(self, node: Node) -> Roles:
        """What the inputs of the node of the file are for."""
        return self._view.roles(self._node if node.index == self._node.index else node)

    def made_type(self, node: Node) -> str:
        """float32 for a result that is stored in steps of a scale."""
        return "float32" if node.outputs[0] in self.graph.quantization else super().made_type(node)

    def _real(self, node: Node, position: int, steps: Interval | None) -> Interval | None:
        stored = self.graph.quantization.get(node.inputs[position]) if steps is not None else None
        if steps is None or stored is None or not is_whole(self.elem_type(node.inputs[position])):
            return steps
        scale, zero = (vector_of(numbers, stored, steps.low.ndim) for numbers in (stored.scales, stored.zero_points))
        return multiply(subtract(steps, zero, 0.0), scale, 0.0)


def vector_of(numbers: Sequence[float], stored: StoredQuantization, rank: int) -> Interval:
    """Scales or zero-points where they lie in a tensor; 0 where the file has none."""
    if len(numbers) < 2:
        return number(float(numbers[0]) if numbers else 0.0)
    return lay(exactly(np.array(numbers, np.float64)), stored.axis, rank)


def through_scales(
    rule: ValueRule, like: Likeness | None = None, *, error: float = 0.0, rescales: bool = False, copies: bool = False
) -> ValueRule:
    """A function of real numbers as an operator with stored scales computes it.

    `error` is how far the kernel may be from it in steps of an int8 result; `rescales` tells that the kernel multiplies
    integers by one factor, whose result is rounded twice; `copies` that it takes stored numbers as they are, so that
    nothing is said where operands and result have other scales or zero-points.
    """

    def values(node: Node, view: ValueView) -> Interval | None:
        if (error > HALF and view.made_type(node) in WIDE) or (copies and not _one_scale(node, view)):
            return None
        inputs = RealView(node, view)
        real = rule(like(node, inputs) if like else node, inputs)
        factor = rescaling(node, view) if rescales else 0.0
        return None if real is None else stored(real, node, view, error + float(twice_rounded(np.float64(factor))))

    return values


def _one_scale(node: Node, view: ValueView) -> bool:
    """Whether all data has the scale and zero-point of the result, or none has any."""
    names = (node.outputs[0], *(node.inputs[place] for place in view.roles(node).data_of(node)))
    return len({view.graph.quantization.get(name) for name in names}) == 1


def rescaling(node: Node, view: ValueView) -> float:
    """Factor between integers of the operands and steps of the result; 0 where there is none."""
    made = view.graph.quantization.get(node.outputs[0])
    scales = [view.graph.quantization.get(node.inputs[place]) for place in view.roles(node).data_of(node)]
    if made is None or made.scales[0] <= 0:
        return 0.0
    return float(np.prod([scale.scales[0] for scale in scales if scale is not None])) / made.scales[0]


def twice_rounded(factor: Floats | np.float64) -> Floats:
    """How far two roundings take a product from one rounding, in steps: to 2**-n first, then to 1.

    With a factor of 2**-n times 0.5 to 1, n from 1 up; nothing where it is 0.5 or more
    (MultiplyByQuantizedMultiplier, tensorflow/lite/kernels/internal/common.cc; arm_nn_requantize).
    """
    return np.where(np.asarray(factor) < HALF, factor, 0.0)


def stored(real: Interval, node: Node, view: ValueView, error: Floats | float = 0.0) -> Interval | None:
    """A real result behind the activation that the operator ends in, as its tensor holds it."""
    bounds = CLAMPS.get(node.text("fused_activation_function", "NONE"))
    if bounds is None:
        return None
    clamped = real if bounds == CLAMPS["NONE"] else real.bent(lambda end: np.clip(end, *bounds))
    if not is_whole(view.made_type(node)):
        return clamped
    made = view.graph.quantization.get(node.outputs[0])
    if made is None:
        unscaled = all(name not in view.graph.quantization for name in node.inputs)
        return clamped if unscaled else None
    if len(made.scales) != 1 or not made.scales[0] > 0:
        return None
    return _in_steps(clamped, made, error, view.made_type(node))


def _in_steps(real: Interval, made: StoredQuantization, error: Floats | float, elem_type: str) -> Interval | None:
    steps = divide(real, number(made.scales[0]), 0.0)
    relative = SHORT_MULTIPLIER if elem_type in WIDE else SLACK
    margins = [np.where(steps.zero, 0, NEAR + error + relative * _size(end)) for end in steps[:2]]
    zero = number(float(made.zero_points[0]) if made.zero_points else 0.0)
    return in_steps(steps.widened(*margins), zero, elem_type)


def _size(end: Floats) -> Floats:
    return np.where(np.isfinite(end), np.abs(end), 0)


def called(name: str, **attributes: str) -> Likeness:
    """The node under the name that ONNX has for its function, with options under ONNX's names (`alpha="alpha"`)."""

    def like(node: Node, _view: ValueView) -> Node:
        found: dict[str, Attribute] = {
            theirs: node.attributes[ours] for theirs, ours in attributes.items() if ours in node.attributes
        }
        return replace(node, op_type=name, domain="", attributes=found)

    return like


def demanded_like(rule: DemandRule, like: Likeness) -> DemandRule:
    """What a node needs, by the rule of one that is like it."""

    def demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
        return rule(like(node, view), view, mask)

    return demand
