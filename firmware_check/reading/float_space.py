"""State of one walk over a float model: values known so far and layers made so far, all of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.program import Elements, FloatNumbers, Value
from firmware_check.reading.state import Workspace
from firmware_check.reading.stored_numbers import StoredNumbers
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.lower.memory_order import reshaped

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph


class FloatSpace(Workspace):
    """Values known so far and layers made so far, all of one type."""

    def __init__(
        self, graph: Graph, stored: StoredNumbers, library: Library, inputs_channels_last: bool, numbers: FloatNumbers
    ) -> None:
        super().__init__(graph, stored, library, inputs_channels_last)
        self.numbers = numbers

    def known(self, name: str) -> Value:
        """The value that a tensor is; the host gives it where no layer made it."""
        if name not in self.integers and name not in self.reals:
            if self.stored.fixed(name):
                raise Unsupported(f"its operand '{name}' is constant")
            self.reals[name] = self.host_value(name, self.numbers)
        return super().known(name)

    def read(self, name: str) -> Elements | None:
        """Numbers of a constant; None where the file does not fix them."""
        return self.stored.array(name) if self.stored.fixed(name) else None

    def result(self, record: LoweredLayer, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
        """What a layer writes: so many elements in a memory order, reshaped where its tensor has another shape."""
        tensor = record.epilogue.tensor if record.epilogue else record.node.outputs[0]
        output, final = self.new(tensor, shape, order, self.numbers), self.shape(tensor)
        return output if final == shape else reshaped(output, final)

    def like(self, record: LoweredLayer, order: tuple[int, ...]) -> Value:
        """What a layer writes in the shape of its node's output."""
        return self.result(record, self.shape(record.node.outputs[0]), order)
