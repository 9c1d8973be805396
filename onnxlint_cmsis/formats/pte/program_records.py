"""What a program says: its methods, values and steps."""

from __future__ import annotations

import struct
from math import prod

from onnxlint_cmsis.formats.flatbuffer import Span
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import MAX_VALUES, Number

LETTERS = {
    "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "float32": "f",
    "float64": "d", "bool": "?", "uint16": "H", "uint32": "I", "uint64": "Q", "bfloat16": "H",
}  # fmt: skip
"""Letter of `struct` for element types of whole bytes; bfloat16 by its bits."""


class PteTensor(NamedTuple):
    """One tensor among the values of a method."""

    elem_type: str
    """Element type by numpy's name."""
    sizes: tuple[int, ...]
    """Sizes in PyTorch's order: NCHW for an image. The largest ones where `dynamic` is and `unbounded` is not."""
    order: tuple[int, ...]
    """Axes from the slowest to the fastest in memory: (0, 2, 3, 1) for an image with its channels last."""
    data: Span | None
    """Where the values of a constant lie; None for a tensor that is computed, and for values outside the file."""
    external: str
    """Key of constant values in another file; empty where there is none."""
    pool: int
    """Planned buffer that it lies in, from 1; 0 for what is not planned, such as an input that the caller lays."""
    offset: int
    """First byte there."""
    dynamic: bool
    """Whether its sizes are decided when it runs."""
    unbounded: bool = False
    """Whether they have no bound either; no release loads a method with such a tensor."""

    @property
    def constant(self) -> bool:
        """Tell whether its values are fixed."""
        return self.data is not None or bool(self.external)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of memory."""
        return tuple(self.sizes[axis] for axis in self.order)

    @property
    def bytes(self) -> int:
        """Bytes of its values."""
        return prod(self.sizes) * struct.calcsize(LETTERS.get(self.elem_type, "B"))


class ValueList(NamedTuple):
    """A list of numbers or tensors, by their places among the values; -1 for one that is left out."""

    items: tuple[int, ...]
    """Places."""
    kind: str
    """Table that holds it: IntList, TensorList or OptionalTensorList."""


Value = PteTensor | ValueList | int | float | bool | str | tuple[int, ...] | tuple[float, ...] | None
"""One value of a method: an argument of its steps."""


class Step(NamedTuple):
    """One instruction."""

    kind: str
    """Table of the schema: `KernelCall`, `DelegateCall`, `MoveCall`, `JumpFalseCall` or `FreeCall`."""
    name: str
    """Operator with its overload, `cortex_m::quantized_conv2d.out`, or the delegate's id; empty for the others."""
    args: tuple[int, ...]
    """Numbers of the values that it takes and writes, in order."""
    span: Span
    """Bytes of the instruction's table in the file."""


class Method(NamedTuple):
    """One entry point of a program."""

    name: str
    """Name, `forward` in most."""
    values: tuple[Value, ...]
    """All arguments of its steps."""
    inputs: tuple[int, ...]
    """Values that the caller gives."""
    outputs: tuple[int, ...]
    """Values that the caller takes."""
    steps: tuple[Step, ...]
    """Instructions in the order they run."""
    pools: tuple[int, ...]
    """Bytes of each planned buffer; number 0 is reserved."""
    chains: tuple[int, ...]
    """Number of steps of each chain."""
    delegates: tuple[str, ...]
    """Delegates that are loaded, called or not."""


class BundledTensor(NamedTuple):
    """One tensor that a bundle gives or expects."""

    elem_type: str
    """Element type by numpy's name."""
    sizes: tuple[int, ...]
    """Sizes in PyTorch's order."""
    order: tuple[int, ...]
    """Axes from the slowest to the fastest in memory."""
    data: bytes
    """Its values in the order of memory."""


class BundledCase(NamedTuple):
    """Inputs of one run of a method, and what it is expected to give."""

    method: str
    """Name of the method."""
    inputs: tuple[BundledTensor | int | float | bool, ...]
    """Its inputs in order."""
    outputs: tuple[BundledTensor | int | float | bool, ...]
    """The outputs that were computed in PyTorch, in order; none where nothing is expected."""


class Program(NamedTuple):
    """A whole file."""

    path: str
    """File as the user named it."""
    methods: tuple[Method, ...]
    """Entry points."""
    data: Buffer
    """The program, mapped; places in it count from its first byte."""
    start: int = 0
    """First byte of the program in the file: not 0 in a bundle."""
    cases: tuple[BundledCase, ...] = ()
    """What a bundle has to test the program with."""

    def bytes_of(self, tensor: PteTensor) -> bytes:
        """Bytes of a constant's values, read now; none where they are outside the file."""
        return bytes(self.data[tensor.data.offset : tensor.data.offset + tensor.data.length]) if tensor.data else b""

    def numbers_of(self, tensor: PteTensor) -> tuple[Number, ...] | None:
        """Values of a constant in the order of memory; None where they are too many to lint, or not readable."""
        count, letter = prod(tensor.sizes), LETTERS.get(tensor.elem_type)
        if tensor.data is None or letter is None or count > MAX_VALUES or tensor.elem_type == "bfloat16":
            return None
        return struct.unpack(f"<{count}{letter}", self.bytes_of(tensor))
