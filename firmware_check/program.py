"""The program that firmware is generated from: values in the memory of the device, and the layers that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import KernelCall, Target
    from onnxlint_cmsis.runtimes.executorch.plan import Plan


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

    @property
    def floating(self) -> bool:
        """Tell whether the device holds floating-point numbers."""
        return False

    @property
    def dtype(self) -> type[np.generic]:
        """Type of the elements on the device."""
        return np.int8 if self.bits == 8 else np.int16

    @property
    def c_type(self) -> str:
        """The same in C."""
        return f"int{self.bits}_t"


@dataclass(frozen=True)
class FloatNumbers(Quantization):
    """Numbers of 32 or 16 bits that stay floating-point numbers."""

    @property
    def floating(self) -> bool:
        """Tell whether the device holds floating-point numbers."""
        return True

    @property
    def dtype(self) -> type[np.generic]:
        """Type of the elements on the device."""
        return np.float32 if self.bits == 32 else np.float16

    @property
    def c_type(self) -> str:
        """The same in C."""
        return f"float{self.bits}_t"

    @property
    def largest(self) -> float:
        """Largest finite number."""
        return float(np.finfo(np.float32 if self.bits == 32 else np.float16).max)

    @property
    def unit(self) -> float:
        """Unit roundoff: half the distance from 1 to the next number."""
        return 2.0**-24 if self.bits == 32 else 2.0**-11


FLOAT_NUMBERS = {"f32": FloatNumbers(1.0, 0, 32), "f16": FloatNumbers(1.0, 0, 16)}
"""Types of functions for floating-point numbers, by the end of their names."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor on the device, quantized or of floating-point numbers, and how it lies in memory."""

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

    def held(self, array: Elements) -> Elements:
        """What the device holds for the ONNX tensor: its integers, less 128 for uint8, or its floats."""
        q = self.quantization
        if q.floating:
            with np.errstate(over="ignore"):
                return array.astype(q.dtype)
        if self.real:
            steps = np.rint(array / np.float32(q.scale)) + q.zero_point
            return np.asarray(np.clip(steps, q.lowest, q.highest), q.dtype)
        return np.asarray(array.astype(np.int32) - 128 if q.unsigned else array, q.dtype)

    def onnx(self, integers: Elements) -> Elements:
        """The ONNX tensor for what the device holds."""
        q = self.quantization
        if q.floating:
            return integers.astype(np.float32)
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


_WIDTH = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8, "float32_t": 4, "float16_t": 2}


@dataclass(frozen=True, eq=False)
class Array:
    """A constant of the generated C."""

    name: str
    """What it is: `weights`, `bias`, `multipliers`."""
    c_type: str
    """`int8_t`, `int16_t`, `int32_t`, `int64_t`, `float32_t`, `float16_t`."""
    values: Elements
    """Elements in the order of memory."""

    @property
    def bytes(self) -> int:
        """Bytes in flash."""
        return int(self.values.size) * _WIDTH[self.c_type]


class FilePlan(NamedTuple):
    """What a file plans for a call that it holds as it is made."""

    scratch: tuple[int, ...] | None
    """Bytes of each scratch buffer; None where the size functions answer when it runs."""
    outcome: Callable[[Target], Plan]
    """What comes of it on a target."""


class FloatOperands(NamedTuple):
    """Constants of a call for f32 or f16, as exact as the device has them."""

    weights: Elements
    """OHWI, 1HWO, [out_c, depth]; a constant operand; the scale of a normalization."""
    bias: Elements | None = None
    """One for each output channel; None for none."""
    spread: Elements | None = None
    """For each output channel, the size of what was added up to a bias; None where that is its own size."""


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
    """The CMSIS-NN call; None where reference code computes the layer."""
    function: str = ""
    """C function of CMSIS-NN called, empty for reference code."""
    arrays: tuple[Array, ...] = ()
    """Weights and the like."""
    numbers: Mapping[str, object] = field(default_factory=dict)
    """Further numbers of the template's macro."""
    reason: str = ""
    """Why reference code computes it."""
    in_place: bool = False
    """Whether the output may lie where the first input lies."""
    scratch: int = 0
    """Bytes that reference code asks for."""
    plan: FilePlan | None = None
    """Of a call that stands in the file with all its numbers: its reference computes the same bits."""
    operands: FloatOperands | None = None
    """What a call for f32 or f16 multiplies and adds, in the standard order; None for other calls."""


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
    """Nodes that no code computes, with the reason; a program that has any runs layer by layer."""
    apart: bool = False
    """Whether no layer reads what another makes: the host gives each its inputs just before it runs."""

    def given(self) -> tuple[Value, ...]:
        """The values that the host writes in one run, in order."""
        if not self.apart:
            return self.inputs
        return tuple(value for step in self.steps for value in {value.buffer: value for value in step.inputs}.values())


def side_by_side(steps: Sequence[Step]) -> Program:
    """A program of layers that each run alone, on memory that the next one takes over."""
    buffers = count()
    return Program((), tuple(_with_own_memory(step, buffers) for step in steps), (), apart=True)


def _with_own_memory(step: Step, buffers: Iterator[int]) -> Step:
    places = {value.buffer: next(buffers) for value in (*step.inputs, step.output)}
    inputs = tuple(replace(value, buffer=places[value.buffer]) for value in step.inputs)
    return replace(step, inputs=inputs, output=replace(step.output, buffer=places[step.output.buffer]))
