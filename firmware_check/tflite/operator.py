"""One operator of a `.tflite` file on its way to a layer, with what every builder needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.program import Array, Step, Value
from firmware_check.reading.unreadable import Unsupported
from firmware_check.tflite.state import TfliteSpace
from onnxlint_cmsis.lower.activation_refusals import WIDENING

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


WITHOUT_CALL = "TensorFlow Lite Micro computes it in reference code"


class TfliteLayer:
    """One operator with what every builder needs."""

    def __init__(self, space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
        self.space = space
        self.operator = operator
        self.row = row
        self.output = operator.outputs[0]
        self.reason = "" if row.functions else WITHOUT_CALL

    def source(self, position: int = 0) -> Value:
        """The activation at an input."""
        return self.space.known(self.operator.inputs[position])

    def step(self, form: str, inputs: tuple[Value, ...], arrays: tuple[Array, ...] = (), **numbers: object) -> None:
        """Add the layer; the call is the interpreter's."""
        output = self.space.new(self.output)
        call = self.row.call if self.reason != WITHOUT_CALL else None
        if call is None and not self.reason:
            raise Unsupported(f"this firmware has no call of {', '.join(self.row.functions)}")
        widens = call is not None and call.entry in WIDENING
        if not widens and any(value.quantization.bits != output.quantization.bits for value in inputs):
            raise Unsupported("its input and output have integers of different widths")
        label = f"{self.operator.title}#{self.row.index}"
        limits = {"limits": self.space.limits(self.operator), **numbers}
        step = Step(label, self.operator.title, form, inputs, output, call, "", arrays, limits, self.reason)
        self.space.add(step, self.output)
