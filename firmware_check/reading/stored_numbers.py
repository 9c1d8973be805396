"""Stored numbers of a model, results of layers, and workspaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from firmware_check.program import Quantization, Step, Value
from firmware_check.reading.forms import Unsupported, formed, refuse_out_of_range, with_zeros
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.lower.dims import is_image
from onnxlint_cmsis.lower.epilogue import CLAMPS
from onnxlint_cmsis.lower.memory_order import channels_last, lies_in, moved_places, reshaped, row_major
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.control import CONSTANT
from onnxlint_cmsis.operators.curve import RELU
from onnxlint_cmsis.operators.shaping import TRANSPOSE

if TYPE_CHECKING:
    from firmware_check.library import Library
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.memory_order import Places
    from onnxlint_cmsis.lower.quantization import AffineQuantization
    from onnxlint_cmsis.model.graph import Graph, Node


# The numbers of a model that the linter never reads: weights and biases.


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """Integer weights behind a DequantizeLinear, as the device holds them: uint8 less 128."""

    integers: np.ndarray
    """int8, in the shape the layer sees."""
    scales: np.ndarray
    """float64, one value or one per output channel."""
    zero_point: int
    """Zero-point, the same for all."""
    narrow: bool = False
    """Whether they are of 4 bits, two to a byte on the device."""

    def scales_of(self, count: int) -> np.ndarray:
        """One scale for each output channel."""
        return np.broadcast_to(self.scales, (count,)) if self.scales.size == 1 else self.scales


class StoredNumbers:
    """Values fixed in a model, by tensor name."""

    def __init__(self, model: onnx.ModelProto, graph: Graph) -> None:
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if operator_of_proto(node) is CONSTANT and node.attribute and node.attribute[0].name == "value":
                self._tensors[node.output[0]] = node.attribute[0].t

    def array(self, name: str) -> np.ndarray:
        """Elements of a constant."""
        if name in self._tensors:
            return numpy_helper.to_array(self._tensors[name])
        node = self._graph.producers.get(name)
        if node is not None and operator_of(node).quantizes and self.fixed(node.inputs[0]):
            return self._quantized(node)
        constant = self._graph.constants.get(name)  # worked out from others
        values = constant.values() if constant else None
        if constant is None or values is None:
            raise Unsupported(f"'{name}' is computed; it has to be fixed in the file")
        return np.array(values).reshape(constant.shape)

    def weights(self, tensor: str) -> IntegerWeights:
        """Integer weights behind a tensor, through what moves them."""
        moves: list[Node] = []
        node = self._graph.producers.get(tensor)
        while node is not None and operator_of(node).elements in (Elements.SAME, Elements.TRANSPOSED):
            moves.append(node)
            node = self._graph.producers.get(node.inputs[0])
        if node is None or not operator_of(node).dequantizes:
            raise Unsupported("its weights are not quantized")
        numbers = self._dequantized(node)
        for move in reversed(moves):
            if operator_of(move).elements is Elements.TRANSPOSED:
                order = move.permutation(numbers.integers.ndim)
                if order is None:
                    raise Unsupported(f"{move.label} has no order of {numbers.integers.ndim} axes as perm")
                numbers = replace(numbers, integers=numbers.integers.transpose(order))
        return numbers

    def _dequantized(self, node: Node) -> IntegerWeights:
        integers = self.array(node.inputs[0])
        scales = self.array(node.inputs[1]).astype(np.float64).reshape(-1)
        zeros = self.array(node.inputs[2]).reshape(-1) if node.inputs[2] else np.zeros(1)
        if integers.dtype == np.uint8:
            integers, zeros = (integers.astype(np.int16) - 128).astype(np.int8), zeros.astype(np.int16) - 128
        narrow = integers.dtype.name == "int4"
        integers = integers.astype(np.int8) if narrow else integers
        if integers.dtype != np.int8:
            raise Unsupported(f"this firmware has no call for weights of {integers.dtype}")
        return IntegerWeights(integers, scales, int(zeros[0]), narrow)

    def _quantized(self, node: Node) -> np.ndarray:
        """Integers that a QuantizeLinear makes of a constant at run time."""
        real, scale = self.real(node.inputs[0]), self.array(node.inputs[1])
        zero = self.array(node.inputs[2]) if node.inputs[2] else np.zeros(1, np.uint8)
        shape = _along(scale, node, real.ndim)
        steps = np.rint(real.astype(np.float32) / scale.reshape(shape)) + zero.reshape(shape)
        limits = np.iinfo(zero.dtype)
        return np.asarray(np.clip(steps, limits.min, limits.max), zero.dtype)

    def real(self, tensor: str) -> np.ndarray:
        """A float constant, dequantized where it is stored in integers."""
        node = self._graph.producers.get(tensor)
        if node is None or not operator_of(node).dequantizes:
            return self.array(tensor).astype(np.float64)
        integers, scale = self.array(node.inputs[0]).astype(np.float64), self.array(node.inputs[1]).astype(np.float64)
        zero = self.array(node.inputs[2]).astype(np.float64) if node.inputs[2] else np.zeros(1)
        if scale.size > 1:
            shape = _along(scale, node, integers.ndim)
            scale, zero = scale.reshape(shape), zero.reshape(shape if zero.size > 1 else [1] * integers.ndim)
        return np.asarray((integers - zero) * scale)

    def fixed(self, tensor: str) -> bool:
        """Whether a tensor is a constant, as it is or behind a DequantizeLinear."""
        if tensor in self._tensors or tensor in self._graph.constants:
            return True
        node = self._graph.producers.get(tensor)
        if node is None or not (operator_of(node).quantizes or operator_of(node).dequantizes):
            return False
        return self.fixed(node.inputs[0])


def _along(scale: np.ndarray, node: Node, rank: int) -> list[int]:
    """Shape in which one scale or several go with a tensor: along the node's axis."""
    several = scale.size > 1
    return [-1 if several and axis == node.int("axis", 1) % rank else 1 for axis in range(rank)]


# State of one walk over a model: values in the device's memory, and the layers that make them.


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


# How a layer ends on the device: the tensor that it writes, its scale and its bounds.


@dataclass(frozen=True, eq=False)
class LayerResult:
    """What a layer writes."""

    tensor: str
    """Quantized tensor that it makes."""
    quantization: Quantization
    """Quantization of that tensor."""
    limits: tuple[int, int]
    """Smallest and largest integer, from Relu, Clip and the integers' own range."""
    added: np.ndarray | None = None
    """Real constant added behind the operator, None where there is none."""


def result_of(space: Workspace, record: LoweredLayer) -> LayerResult:
    """The end of a layer as lowering found it, in numbers."""
    ending = record.epilogue
    if ending is None:
        raise Unsupported("its result is not quantized")
    quantization = on_device(ending.quantization)
    clamps = [clip_limits(space, node) for node in ending.clamps]
    if record.node.is_op(*CLAMPS):
        clamps.append(clip_limits(space, record.node))
    low = max([quantization.lowest, *(quantization.integer(lower) for lower, _ in clamps)])
    high = min([quantization.highest, *(quantization.integer(upper) for _, upper in clamps)])
    added = None
    if ending.added is not None:
        added = space.stored.real(next(name for name in ending.added.inputs if space.stored.fixed(name)))
    return LayerResult(ending.tensor, quantization, (low, high), added)


def like(space: Workspace, node: Node, result: LayerResult, source: Value | None = None) -> Value:
    """The output of a layer, channels last or in the order of one of its inputs."""
    shape = space.shape(node.outputs[0])
    order = source.order if source is not None else channels_last(len(shape))
    output = space.new(result.tensor, shape, order, result.quantization)
    final = space.shape(result.tensor)
    return output if final == shape else reshaped(output, final)


def clip_limits(space: Workspace, node: Node) -> tuple[float, float]:
    """Bounds of a Relu or a Clip, as attributes or constant inputs."""
    if operator_of(node) is RELU:
        return 0.0, np.inf
    bounds = []
    for position, (name, missing) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        given = node.attributes.get(name, missing)
        if node.has(position):
            given = float(space.stored.real(node.inputs[position]).reshape(-1)[0])
        bounds.append(float(given) if isinstance(given, (int, float)) else missing)
    return bounds[0], bounds[1]
