"""State of one walk over a `.tflite` model: values in the device's memory, and the layers that make them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from firmware_check.program import Quantization, Step, Value
from firmware_check.reading.forms import formed
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.formats.tflite.arrays import array_of
from onnxlint_cmsis.formats.tflite.to_graph import main_keys

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor


BITS = {"INT8": 8, "INT16": 16}


ACTIVATIONS = {
    "NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0),
}  # fmt: skip
"""Bounds of fused activations."""


def bounds(quantization: Quantization, real: tuple[float | None, float | None]) -> tuple[int, int]:
    """Integers that a real range stands for, within those of the type (CalculateActivationRangeQuantized)."""
    low, high = (None if bound is None else _integer(quantization, bound) for bound in real)
    lowest = quantization.lowest if low is None else max(quantization.lowest, low)
    return lowest, quantization.highest if high is None else min(quantization.highest, high)


def _integer(quantization: Quantization, bound: float) -> int:
    """Nearest integer, half away from zero, in single precision as there."""
    steps = float(np.float32(bound) / np.float32(quantization.scale))
    return quantization.zero_point + int(np.copysign(np.floor(abs(steps) + 0.5), steps))


class TfliteSpace:
    """Values known so far and layers made so far."""

    def __init__(self, model: TfliteModel, library: Library) -> None:
        self.model = model
        self.library = library
        self.main = model.subgraphs[0]
        self.keys = main_keys(self.model)
        self.values: dict[int, Value] = {}
        """Activations by the number of their tensor."""
        self.inputs: list[Value] = []
        """Values that the host writes."""
        self.steps: list[Step] = []
        self._buffers = 0

    def tensor(self, index: int) -> TfliteTensor:
        """A tensor of the main subgraph; Unsupported for an omitted one."""
        if index < 0:
            raise Unsupported("an input that it needs is omitted")
        return self.main.tensors[index]

    def known(self, index: int) -> Value:
        """The value that a tensor is; one that nothing on the device makes is written by the host."""
        if self.model.is_constant(self.tensor(index)):
            raise Unsupported(f"its operand '{self.keys[index]}' is constant")
        if index not in self.values:
            raise Unsupported(f"nothing makes its input '{self.keys[index]}' on the device")
        return self.values[index]

    def host_value(self, index: int) -> None:
        """Let the host write a tensor."""
        self.values[index] = self.new(index)
        self.inputs.append(self.values[index])

    def new(self, index: int) -> Value:
        """A new value with a new buffer, in the order of the file."""
        self._buffers += 1
        shape = self.tensor(index).shape
        return Value(self.keys[index], self._buffers - 1, shape, tuple(range(len(shape))), self.quantization(index))

    def view(self, source: Value, index: int) -> Value:
        """The same memory as another tensor."""
        shape = self.tensor(index).shape
        return replace(source, tensor=self.keys[index], shape=shape, order=tuple(range(len(shape))))

    def quantization(self, index: int) -> Quantization:
        """Scale and zero-point of an activation."""
        tensor = self.tensor(index)
        stored, bits = tensor.quantization, BITS.get(tensor.elem_type)
        if bits is None or stored is None or len(stored.scales) != 1:
            raise Unsupported(f"'{self.keys[index]}' is {tensor.elem_type} and no int8 or int16 of one scale")
        return Quantization(stored.scales[0], (*stored.zero_points, 0)[0], bits)

    def scales(self, index: int, count: int) -> list[float]:
        """Scales of weights, one for each channel."""
        stored = self.tensor(index).quantization
        if stored is None or len(stored.scales) not in (1, count):
            raise Unsupported(f"'{self.keys[index]}' has no scale, or not one for each channel")
        return list(stored.scales) * (count if len(stored.scales) == 1 else 1)

    def numbers(self, index: int) -> np.ndarray[Any, Any]:
        """Values of a constant."""
        tensor = self.tensor(index)
        array = array_of(self.model, tensor) if self.model.is_constant(tensor) else None
        if array is None:
            raise Unsupported(f"'{self.keys[index]}' is computed, or stored in a form that is not read")
        return array

    def limits(self, operator: TfliteOperator) -> tuple[int, int]:
        """Smallest and largest integer of the output, with the fused activation (CalculateActivationRangeQuantized)."""
        quantization = self.quantization(operator.outputs[0])
        name = str(operator.options.get("fused_activation_function", "NONE"))
        if name not in ACTIVATIONS:
            raise Unsupported(f"its activation {name} is not generated")
        return bounds(quantization, ACTIVATIONS[name])

    def add(self, step: Step, index: int) -> None:
        """A layer, by the function of its form or in reference code."""
        form = formed(step, self.library)
        self.steps.append(form)
        self.values[index] = form.output
