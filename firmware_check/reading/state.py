"""State of one walk over a model: values in the device's memory, and the layers that make them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firmware_check.program import Quantization, Step, Value
from firmware_check.reading.constants import refuse_out_of_range, with_zeros
from firmware_check.reading.forms import formed
from firmware_check.reading.stored_numbers import StoredNumbers
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.lower.dims import is_image
from onnxlint_cmsis.lower.memory_order import Places, channels_last, lies_in, moved_places, reshaped, row_major
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.lower.quantization import AffineQuantization
    from onnxlint_cmsis.model.graph import Graph, Node


MOST_AXES = 8
"""Loops of the reference code that moves elements."""


class Workspace:
    """Values known so far and layers made so far."""

    def __init__(
        self,
        graph: Graph,
        stored: StoredNumbers,
        library: Library,
        inputs_channels_last: bool,
        bias_of_zeros: bool = False,
    ) -> None:
        self.graph = graph
        self.stored = stored
        self.library = library
        self._inputs_channels_last = inputs_channels_last
        self._bias_of_zeros = bias_of_zeros
        self.inputs: list[Value] = []
        """Values that the host writes."""
        self.integers: dict[str, Value] = {}
        """Tensors of integers."""
        self.reals: dict[str, Value] = {}
        """Tensors of the reals that integers stand for."""
        self.steps: list[Step] = []
        self._buffers = 0

    def known(self, name: str) -> Value:
        """The value that a tensor is, or that is behind a float one."""
        if name in self.integers:
            return self.integers[name]
        if name not in self.reals:
            raise Unsupported(f"nothing makes its input '{name}' on the device")
        return self.reals[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, all sizes known."""
        shape = self.graph.shape(name)
        if shape is None or any(size is None for size in shape):
            raise Unsupported(f"the shape of '{name}' is not fixed")
        return tuple(size for size in shape if size is not None)

    def new(self, tensor: str, shape: tuple[int, ...], order: tuple[int, ...], quantization: Quantization) -> Value:
        """A new value with a new buffer."""
        self._buffers += 1
        return Value(tensor, self._buffers - 1, shape, order, quantization)

    def host_value(self, tensor: str, quantization: Quantization) -> Value:
        """A value that the host writes: an input, or what a node outside the firmware makes."""
        shape = self.shape(tensor)
        last = self._inputs_channels_last and is_image(self.graph, tensor) is not False
        value = self.new(tensor, shape, channels_last(len(shape)) if last else tuple(range(len(shape))), quantization)
        self.inputs.append(value)
        return value

    def constant(self, tensor: str, like: Value, quantization: Quantization) -> Value:
        """A constant with the memory order of another value and no buffer."""
        return Value(tensor, -1, like.shape, like.order, quantization)

    def beside(self, source: Value, tensor: str, quantization: Quantization) -> Value:
        """A new value with a new buffer and the memory order of another."""
        output = self.new(tensor, source.shape, source.order, quantization)
        return replace(output, folded_from=source.folded_from)  # what it was before a Reshape lies there alike

    def ordered(self, node: Node, value: Value, order: tuple[int, ...]) -> Value:
        """The value in this memory order; reference code moves it where it lies otherwise."""
        if lies_in(value, order):
            return replace(value, order=order)
        if value.folded_from is not None:
            source = value.folded_from
            plain = self._moved(node, source, tuple(range(len(source.shape))))
            behind = replace(reshaped(plain, value.shape), tensor=value.tensor, real=value.real)
            return self.ordered(node, behind, order)
        return self._moved(node, value, order)

    def plain(self, node: Node, value: Value) -> Value:
        """The value with a memory order that its shape describes."""
        return value if value.folded_from is None else self.ordered(node, value, tuple(range(len(value.shape))))

    def _moved(self, node: Node, value: Value, order: tuple[int, ...]) -> Value:
        moved = replace(self.new(value.tensor, value.shape, order, value.quantization), real=value.real)
        reason = (
            "CMSIS-NN wants channels last here" if row_major(value) else "ONNX counts elements in another order here"
        )
        names = f"{node.label}:transpose", TRANSPOSE.name, reason
        self.steps.append(copy_step(names, value, moved, moved_places(value, order)))
        return moved

    def add(self, step: Step) -> None:
        """A layer, by the function of its form or in reference code."""
        refuse_out_of_range(step)
        self.keep(formed(with_zeros(step) if self._bias_of_zeros else step, self.library))

    def keep(self, step: Step) -> None:
        """A layer as it is."""
        self.steps.append(step)
        self.integers[step.output.tensor] = step.output


def copy_step(names: tuple[str, str, str], source: Value, output: Value, places: Places, offset: int = 0) -> Step:
    """A copy of elements, in reference code; `names`: label, operator and reason, `offset` is the first element taken.

    Two bytes of an int16 element are a further loop, so that the copy handles bytes alone.
    """
    label, op_type, reason = names
    width = source.quantization.bits // 8
    if width > 1:
        places = [*((size, stride * width) for size, stride in places), (width, 1)]
    if len(places) > MOST_AXES:
        raise Unsupported(f"it moves elements along {len(places)} axes; up to {MOST_AXES} are supported")
    numbers = {"places": places, "offset": offset * width}
    return Step(label, op_type, "reference_move", (source,), output, numbers=numbers, reason=reason)


def on_device(quantization: AffineQuantization | None) -> Quantization:
    """Quantization of the integers that the device holds: those of the file, less 128 for uint8."""
    if quantization is None or not quantization.known:
        raise Unsupported("the scale of its integers is not known")
    unsigned = quantization.elem_type == "uint8"
    return Quantization(quantization.scale, quantization.signed_zero_points[0], quantization.bits, unsigned)
