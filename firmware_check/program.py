"""The program that firmware is generated from: values in the device's memory, and the layers that make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnxlint_cmsis.types import KernelCall


Elements = NDArray[Any]


@dataclass(frozen=True)
class Quantization:
    """Affine quantization of a whole tensor: real = scale * (integer - zero_point)."""

    scale: float
    """Scale, positive."""
    zero_point: int
    """Integer of real 0."""
    bits: int = 8
    """8 for int8, 16 for int16."""
    unsigned: bool = False
    """The file has uint8; the device has the same less 128, the zero-point with it."""

    @property
    def lowest(self) -> int:
        """Smallest integer."""
        return -(1 << (self.bits - 1))

    @property
    def highest(self) -> int:
        """Largest integer."""
        return (1 << (self.bits - 1)) - 1

    def integer(self, real: float) -> int:
        """Nearest integer of a real number, saturated."""
        steps = max(-1e9, min(1e9, real / self.scale))  # a bound may be infinite
        return max(self.lowest, min(self.highest, round(steps) + self.zero_point))


@dataclass(frozen=True, eq=False)
class Value:
    """A quantized tensor, and how it lies in memory."""

    tensor: str
    """ONNX tensor that it is."""
    buffer: int
    """Number of the memory it lies in; views of one buffer share it."""
    shape: tuple[int, ...]
    """ONNX shape."""
    order: tuple[int, ...]
    """ONNX axes from slowest to fastest in memory: (0, 2, 3, 1) is NHWC."""
    quantization: Quantization
    """Scale and zero-point."""
    real: bool = False
    """Whether that tensor holds the real numbers, rather than the integers, in the file."""
    folded_from: Value | None = None
    """Where memory order and the shape's row-major order differ after a Reshape: the value before it."""

    @property
    def count(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return self.count * self.quantization.bits // 8

    def integers(self, array: Elements) -> Elements:
        """What the device holds for the ONNX tensor: its integers, less 128 for uint8."""
        q = self.quantization
        kind = np.int8 if q.bits == 8 else np.int16
        if self.real:
            steps = np.rint(array / np.float32(q.scale)) + q.zero_point
            return np.asarray(np.clip(steps, q.lowest, q.highest), kind)
        return np.asarray(array.astype(np.int32) - 128 if q.unsigned else array, kind)

    def onnx(self, integers: Elements) -> Elements:
        """The ONNX tensor for the integers that the device holds."""
        q = self.quantization
        if self.real:
            return np.asarray((integers.astype(np.int32) - q.zero_point) * np.float32(q.scale), np.float32)
        return np.asarray(integers.astype(np.int32) + 128, np.uint8) if q.unsigned else integers

    def to_memory(self, array: Elements) -> Elements:
        """Elements of an ONNX tensor in the order of memory, repeated where the value is an operand made larger."""
        if self.folded_from is not None:
            return self.folded_from.to_memory(array)
        whole = array.reshape(self.shape) if array.size == self.count else np.broadcast_to(array, self.shape)
        return np.asarray(whole.transpose(self.order).reshape(-1))

    def from_memory(self, flat: Elements) -> Elements:
        """The ONNX tensor whose elements lie in memory in this order."""
        if self.folded_from is not None:
            return self.folded_from.from_memory(flat).reshape(self.shape)
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return np.asarray(flat.reshape([self.shape[axis] for axis in self.order]).transpose(back))


_WIDTH = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8}


@dataclass(frozen=True, eq=False)
class Array:
    """A constant of the generated C."""

    name: str
    """What it is: `weights`, `bias`, `multipliers`."""
    c_type: str
    """`int8_t`, `int16_t`, `int32_t`, `int64_t`."""
    values: Elements
    """Elements in the order of memory."""

    @property
    def bytes(self) -> int:
        """Bytes in flash."""
        return int(self.values.size) * _WIDTH[self.c_type]


@dataclass(frozen=True, eq=False)
class Step:
    """One layer of the firmware."""

    label: str
    """ONNX node that it computes."""
    op_type: str
    """Operator of that node."""
    form: str
    """Macro of the template that writes it: `convolve`, `add`, `reference_softmax`."""
    inputs: tuple[Value, ...]
    """Activations read."""
    output: Value
    """Activation written."""
    call: KernelCall | None = None
    """The CMSIS-NN call; None where plain C computes the layer."""
    function: str = ""
    """C function of CMSIS-NN called, empty for plain C."""
    arrays: tuple[Array, ...] = ()
    """Weights and the like."""
    numbers: Mapping[str, object] = field(default_factory=dict)
    """Further numbers of the template's macro."""
    reason: str = ""
    """Why plain C computes it."""
    in_place: bool = False
    """Whether the output may lie where the first input lies."""
    scratch: int = 0
    """Bytes that plain C asks for."""


@dataclass(frozen=True, eq=False)
class Program:
    """A model as layers in the order they run."""

    inputs: tuple[Value, ...]
    """Values that the host writes."""
    steps: tuple[Step, ...]
    """Layers."""
    outputs: tuple[Value, ...]
    """Values that the host reads."""
    foreign: tuple[tuple[str, str], ...] = ()
    """Nodes that neither CMSIS-NN nor plain C computes, with the reason; a program that has any runs layer by layer."""
    apart: bool = False
    """Whether no layer reads what another makes: the host gives each its inputs just before it runs."""

    def given(self) -> tuple[Value, ...]:
        """The values that the host writes in one run, in order."""
        if not self.apart:
            return self.inputs
        return tuple(value for step in self.steps for value in {each.buffer: each for each in step.inputs}.values())


def side_by_side(steps: Sequence[Step]) -> Program:
    """A program of layers that each run alone, on memory that the next one takes over."""
    buffers = count()
    return Program((), tuple(_with_own_memory(step, buffers) for step in steps), (), apart=True)


def _with_own_memory(step: Step, buffers: Iterator[int]) -> Step:
    places = {value.buffer: next(buffers) for value in (*step.inputs, step.output)}
    inputs = tuple(replace(value, buffer=places[value.buffer]) for value in step.inputs)
    return replace(step, inputs=inputs, output=replace(step.output, buffer=places[step.output.buffer]))
