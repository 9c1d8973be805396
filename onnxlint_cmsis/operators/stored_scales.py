"""Intervals where tensors keep their own scales: real numbers of the inputs, and steps of the result's scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.element_ranges import SLACK, is_whole
from onnxlint_cmsis.model.interval_axes import lay
from onnxlint_cmsis.model.intervals import exactly, point
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS
from onnxlint_cmsis.operators.interval_arithmetic import divide, multiply, subtract
from onnxlint_cmsis.operators.scale_values import NEAR, in_steps, size_of_end
from onnxlint_cmsis.operators.views import LayerSum, ValueRule, ValueView

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node, StoredQuantization
    from onnxlint_cmsis.model.intervals import Floats, Interval
    from onnxlint_cmsis.model.roles import Roles


HALF = 0.5
SHORT_MULTIPLIER = 2.0**-14
"""Relative error of results in int16, whose multipliers have 16 bits (MultiplyByQuantizedMultiplier of int64)."""
WIDE = ("int16",)
"""Results of which one step of the scale says little of how far a function in fixed-point numbers is off."""


class RealView(ValueView):
    """Inputs as real numbers."""

    def __init__(self, view: ValueView) -> None:
        self.graph = view.graph
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
        """What the inputs of a node are for."""
        return self._view.roles(node)

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
        return point(float(numbers[0]) if numbers else 0.0)
    return lay(exactly(np.array(numbers, np.float64)), stored.axis, rank)


def through_scales(rule: ValueRule, *, error: float = 0.0, rescales: bool = False, copies: bool = False) -> ValueRule:
    """A function of real numbers as an operator with stored scales computes it.

    `error` is how far the kernel may be from it in steps of an int8 result; `rescales` tells that the kernel multiplies
    integers by one factor, whose result is rounded twice; `copies` that it takes stored numbers as they are, so that
    nothing is said where operands and result have other scales or zero-points.
    """

    def values(node: Node, view: ValueView) -> Interval | None:
        if (error > HALF and view.made_type(node) in WIDE) or (copies and not _one_scale(node, view)):
            return None
        inputs = RealView(view)
        real = rule(node, inputs)
        factor = rescaling(node, view) if rescales else 0.0
        return None if real is None else stored(real, node, view, error + float(twice_rounded(np.float64(factor))))

    return values


def _one_scale(node: Node, view: ValueView) -> bool:
    """Tell whether all data has the scale and zero-point of the result, or none has any."""
    names = (node.outputs[0], *(node.inputs[position] for position in view.roles(node).data_of(node)))
    return len({view.graph.quantization.get(name) for name in names}) == 1


def rescaling(node: Node, view: ValueView) -> float:
    """Factor between integers of the operands and steps of the result; 0 where there is none."""
    result = view.graph.quantization.get(node.outputs[0])
    operands = [view.graph.quantization.get(node.inputs[position]) for position in view.roles(node).data_of(node)]
    if result is None or result.scales[0] <= 0:
        return 0.0
    return float(np.prod([operand.scales[0] for operand in operands if operand is not None])) / result.scales[0]


def twice_rounded(factor: Floats | np.float64) -> Floats:
    """How far two roundings take a product from one rounding, in steps: to 2**-n first, then to 1.

    With a factor of 2**-n times 0.5 to 1, n from 1 up; nothing where it is 0.5 or more
    (MultiplyByQuantizedMultiplier, tensorflow/lite/kernels/internal/common.cc; arm_nn_requantize).
    """
    return np.where(np.asarray(factor) < HALF, factor, 0.0)


def stored(real: Interval, node: Node, view: ValueView, error: Floats | float = 0.0) -> Interval | None:
    """A real result behind the activation that the operator ends in, as its tensor holds it."""
    name = node.text("fused_activation_function", "NONE")
    if name != "NONE" and name not in ACTIVATIONS:
        return None
    clamped = real if name == "NONE" else real.bent(lambda end: np.clip(end, *ACTIVATIONS[name]))
    if not is_whole(view.made_type(node)):
        return clamped
    result = view.graph.quantization.get(node.outputs[0])
    if result is None:
        unscaled = all(name not in view.graph.quantization for name in node.inputs)
        return clamped if unscaled else None
    if len(result.scales) != 1 or not result.scales[0] > 0:
        return None
    steps = divide(clamped, point(result.scales[0]), 0.0)
    relative = SHORT_MULTIPLIER if view.made_type(node) in WIDE else SLACK
    margins = [np.where(steps.zero, 0, NEAR + error + relative * size_of_end(end)) for end in steps[:2]]
    zero = point(float(result.zero_points[0]) if result.zero_points else 0.0)
    return in_steps(steps.widened(*margins), zero, view.made_type(node))
