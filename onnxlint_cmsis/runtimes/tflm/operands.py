"""The tensors that a kernel reads and writes, as messages call them."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.preparation import Unpredictable


class KernelOperand(NamedTuple):
    """A tensor that an operator reads or writes."""

    position: int
    """Number among the inputs, or the outputs."""
    title: str
    """What a message calls it."""
    written: bool = False
    """An output."""

    def of(self, view: OperatorView) -> TfliteTensor:
        """The tensor. Raises Unpredictable where there is none."""
        tensor = view.output(self.position) if self.written else view.input(self.position)
        if tensor is None:
            raise Unpredictable(f"{self.title} is missing, and the kernel reads it")
        return tensor


DATA, SECOND, THIRD = (
    KernelOperand(0, "its input"),
    KernelOperand(1, "its second input"),
    KernelOperand(2, "its third input"),
)

LEFT, AXIS, SIZES, INDICES = (
    KernelOperand(0, "its first input"),
    KernelOperand(1, "its axis"),
    KernelOperand(1, "its size"),
    KernelOperand(1, "its indices"),
)

OUTPUT = KernelOperand(0, "its output", written=True)
