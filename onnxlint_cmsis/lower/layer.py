"""One node as a kernel call, with the tensors that hold its channel counts and the layout of its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from onnxlint_cmsis.cmsis_nn.releases import FLOAT
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Dims, FloatCall, Function, KernelCall, Size
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Quantized
from onnxlint_cmsis.operators.record import Layout

if TYPE_CHECKING:
    from dataclasses import Field


class Channel(NamedTuple):
    """Tensor and axis of a channel count."""

    tensor: str
    """Tensor that carries it: the weights where the layer has any, an activation else."""
    axis: int
    """Axis of that tensor."""
    factor: int = 1
    """The call's count is this many times the axis' size (groups, for the input channels of a grouped convolution)."""


class Layer(NamedTuple):
    """One ONNX node as a CMSIS-NN kernel call."""

    node: Node
    """The node whose operator the kernel computes."""
    call: KernelCall
    """The call."""
    channels: dict[str, Channel] = {}  # noqa: RUF012
    """Where the call's channel counts live, under CMSIS-NN's names (`input_dims.c`, `output_dims.c`, `ch_mult`).

    `ch_mult` lives in the output channels, which are the input channels times it.
    """
    groups: int = 1
    """Groups of a convolution."""
    assumed: bool = False
    """The model computes in float here; the call is the integer layer it will become."""
    macs: int | None = None
    """Multiply-accumulates, None where undecided or meaningless."""
    folded: tuple[str, ...] = ()
    """Labels of Pad nodes whose padding the call includes."""
    fused: tuple[Node, ...] = ()
    """Nodes behind this one that its kernel computes along: clamps, and BatchNormalization in the weights."""
    once: bool = False
    """The first run alone computes it (`Graph.once`): it costs later runs nothing."""

    def resized(self, variable: str, size: int) -> KernelCall:
        """The call after a channel count changed, with every number that follows from it.

        `input_dims.c` carries the filter's input channels (per group) along, `ch_mult` and the input channels of a
        depthwise layer its output channels, `output_dims.c` the filter's count.
        """
        call, dims = self.call, self.call.input_dims
        depthwise = call.function is Function.DEPTHWISE
        if variable == "output_dims.c":
            return _with_output(call, size, depthwise)
        if variable == "ch_mult":
            return _with_output(call, (0 if dims.c is None else dims.c) * size, depthwise)._replace(ch_mult=size)
        if variable != "input_dims.c":
            raise ValueError(f"{variable} is not a channel count; use input_dims.c, output_dims.c or ch_mult")
        call = call._replace(input_dims=dims._replace(c=size))
        if depthwise:
            return _with_output(call, size * (call.ch_mult or 1), depthwise)
        if call.function is Function.FULLY_CONNECTED:
            return call._replace(filter_dims=call.filter_dims._replace(n=size))
        return call._replace(filter_dims=call.filter_dims._replace(c=size // self.groups))


def _with_output(call: KernelCall, size: int, depthwise: bool) -> KernelCall:
    last = depthwise or call.function is Function.FULLY_CONNECTED
    filter_dims = call.filter_dims._replace(c=size) if last else call.filter_dims._replace(n=size)
    return call._replace(output_dims=call.output_dims._replace(c=size), filter_dims=filter_dims)


def product_of(*sizes: Size) -> int | None:
    """Product of sizes, None where one is unknown."""
    total = 1
    for size in sizes:
        if size is None:
            return None
        total *= size
    return total


# How activations lie in memory: what Transpose and Reshape make of one without moving a byte.


Places = list[tuple[int, int]]
"""For each loop from the outermost, how often it runs and how many elements it goes on in the source."""


class Laid(Protocol):
    """A frozen dataclass that says where the elements of a tensor lie."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the ONNX tensor."""

    @property
    def order(self) -> tuple[int, ...]:
        """ONNX axes from slowest to fastest in memory: (0, 2, 3, 1) is NHWC."""

    @property
    def folded_from(self) -> Laid | None:
        """Where memory order and the shape's row-major order differ after a Reshape: the value before it."""


@dataclass(frozen=True)
class Stored:
    """Where the elements of a tensor lie."""

    shape: tuple[int, ...]
    """Sizes of the ONNX tensor."""
    order: tuple[int, ...]
    """ONNX axes from slowest to fastest in memory."""
    folded_from: Stored | None = None
    """The value before a Reshape of which the order of this shape's axes does not tell."""


LaidT = TypeVar("LaidT", bound=Laid)


def channels_last(rank: int) -> tuple[int, ...]:
    """The order in which CMSIS-NN has the axes of an NCHW, NCW or lower-rank tensor."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


def strides_of(value: Laid) -> dict[int, int]:
    """Elements from one index of each ONNX axis to the next."""
    sizes = [value.shape[axis] for axis in value.order]
    return {axis: prod(sizes[position + 1 :]) for position, axis in enumerate(value.order)}


def moved_places(value: Laid, order: Sequence[int]) -> Places:
    """The copy that brings a value into another memory order."""
    strides = strides_of(value)
    return [(value.shape[axis], strides[axis]) for axis in order]


def same_memory(shape: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether two orders of a shape lay its elements out alike; axes of size 1 do not count."""
    return [axis for axis in first if shape[axis] != 1] == [axis for axis in second if shape[axis] != 1]


def lies_in(value: Laid, order: tuple[int, ...]) -> bool:
    """Whether the value's memory is in this order."""
    return value.folded_from is None and same_memory(value.shape, value.order, order)


def row_major(value: Laid) -> bool:
    """Whether memory has the elements in ONNX's own order."""
    return lies_in(value, tuple(range(len(value.shape))))


def transposed(value: LaidT, permutation: tuple[int, ...]) -> LaidT:
    """The same memory seen after ONNX's Transpose."""
    shape = tuple(value.shape[axis] for axis in permutation)
    order = tuple(permutation.index(axis) for axis in value.order)
    return replace(value, shape=shape, order=order, folded_from=None)


def reshaped(value: LaidT, shape: tuple[int, ...]) -> LaidT:
    """The same memory seen after ONNX's Reshape, whatever its order."""
    if prod(shape) != prod(value.shape):
        raise ValueError(f"{value.shape} has not as many elements as {shape}")
    before = value.folded_from or value
    if before.shape == shape:
        return replace(value, shape=shape, order=before.order, folded_from=before.folded_from)
    order = tuple(range(len(shape)))
    source = None if row_major(value) else (value.folded_from or value)
    return replace(value, shape=shape, order=order, folded_from=source)


# Input positions of activation, weights and quantization parameters, from an operator's record.


def activations_of(node: Node) -> tuple[int, ...]:
    """Positions of a node's operands: the activation, and the operands that it is joined or paired with."""
    roles = operator_of(node).roles
    if roles.step:
        return tuple(range(roles.first, len(node.inputs), roles.step))
    return tuple(position for position in (roles.first, roles.second) if 0 <= position < len(node.inputs))


def operands_of(node: Node) -> tuple[str, ...]:
    """Tensors at these positions, those that are omitted left out."""
    return tuple(node.inputs[position] for position in activations_of(node) if node.inputs[position])


def parameters_of(node: Node, value: int) -> Quantized | None:
    """Positions of scale and zero-point of one of a node's inputs, -1 for its output; None where it carries none."""
    carried = operator_of(node).roles.quantized_of(len(node.inputs))
    return next((parameters for parameters in carried if parameters.value == value and parameters.scale >= 0), None)


# The map from ONNX's axes to CMSIS-NN's: images are NHWC at run time, all else keeps its order.


Shape = tuple[Size, ...]

NO_DIMS = Dims(None, None, None, None)
"""Dims of an operand that a call does not have, or of which nothing is known."""
MAX_RANK = 4
"""Axes of `cmsis_nn_dims`."""
REACH = 100
"""How many nodes are looked at for one that tells the layout."""


def nhwc(shape: Shape | None, missing: int = 1) -> Dims:
    """An NCHW, NCW or lower-rank shape in NHWC; rank 2 is [n, 1, 1, c], rank 1 is [1, 1, 1, c]."""
    if shape is None or len(shape) > 4:
        return NO_DIMS
    if len(shape) == 4:
        return Dims(shape[0], shape[2], shape[3], shape[1])
    if len(shape) == 3:
        return Dims(shape[0], missing, shape[2], shape[1])
    batch = shape[0] if len(shape) == 2 else missing
    return Dims(batch, missing, missing, shape[-1] if shape else missing)


def ordered(shape: Shape | None, missing: int = 1) -> Dims:
    """A shape of rank 4 or less as it stands, ones in front."""
    return NO_DIMS if shape is None or len(shape) > 4 else Dims(*(missing,) * (4 - len(shape)), *shape)


def dims_of(graph: Graph, *tensors: str) -> tuple[Dims, ...]:
    """Dims of activations of one layout: NHWC unless the order of the last one is known to be ONNX's."""
    plain = is_image(graph, tensors[-1]) is False
    return tuple(_laid_out(graph.shape(tensor), plain, 1) for tensor in tensors)


def broadcast_dims(graph: Graph, *tensors: str) -> tuple[Dims, ...]:
    """Dims of operands and their result as ONNX broadcasts them: shapes of a lower rank have ones in front."""
    shapes = [graph.shape(tensor) for tensor in tensors]
    rank = max(len(shape or ()) for shape in shapes)
    plain = is_image(graph, tensors[-1]) is False
    filled = [shape if shape is None else (*(1,) * (rank - len(shape)), *shape) for shape in shapes]
    return tuple(_laid_out(shape, plain, 1) for shape in filled)


def amounts_of(graph: Graph, tensor: str, amounts: Shape) -> Dims:
    """Amounts along the axes of an activation, in the order that `dims_of` gives its sizes in."""
    return _laid_out(amounts, is_image(graph, tensor) is False, 0)


def _laid_out(shape: Shape | None, plain: bool, missing: int) -> Dims:
    return ordered(shape, missing) if plain and len(shape or ()) > 2 else nhwc(shape, missing)


def is_image(graph: Graph, tensor: str) -> bool | None:
    """Whether an activation is an image, stored as NHWC; None where its producers do not decide."""
    for _ in range(REACH):
        node = graph.producers.get(tensor)
        if node is None or _to_nchw(node.ints("perm")):
            return None
        layout = operator_of(node).layout
        if layout is Layout.IMAGE or (layout is Layout.ORDERED and not _keeps_channels(graph, node)):
            return layout is Layout.IMAGE
        position = operator_of(node).roles.first
        if position >= len(node.inputs):
            return None
        tensor = node.inputs[position]
    return None


def changes_layout_only(graph: Graph, node: Node, order: tuple[int, ...]) -> bool:
    """Tell whether a Transpose turns an image from NCHW to NHWC or back, which moves nothing in CMSIS-NN."""
    if len(order) > 2 and order == channels_last(len(order)) and is_image(graph, node.inputs[0]):
        return True
    return _to_nchw(order) and becomes_image(graph, node.outputs[0])


def _to_nchw(order: tuple[int, ...]) -> bool:
    return len(order) > 2 and order == (0, len(order) - 1, *range(1, len(order) - 1))


def becomes_image(graph: Graph, tensor: str) -> bool:
    """Whether an operator on images reads a value, possibly behind others that keep the order of axes."""
    waiting, seen = [tensor], {tensor}
    while waiting and len(seen) <= REACH:
        for reader in graph.consumers.get(waiting.pop(), ()):
            layout = operator_of(reader).layout
            if layout is Layout.IMAGE:
                return True
            if layout is not Layout.ORDERED or _keeps_channels(graph, reader):
                waiting += [name for name in reader.outputs if name not in seen]
                seen.update(reader.outputs)
    return False


def _keeps_channels(graph: Graph, node: Node) -> bool:
    """Whether a Reshape only joins or splits the plane of an image, behind its batch and channels."""
    shapes = [graph.shape(name) for name in (*node.inputs[:1], *node.outputs[:1])]
    if canonical(node) != "Reshape" or any(shape is None or len(shape) < 3 for shape in shapes):
        return False
    outer = [shape[:2] for shape in shapes if shape]
    return outer[0] == outer[1] and None not in outer[0]


def shape_text(shape: Shape | None) -> str:
    """A shape for messages: `1x?x8`."""
    return "?" if shape is None else "x".join("?" if size is None else str(size) for size in shape)


# What lowering takes for granted where the model does not say it.


class Assumptions(NamedTuple):
    """Choices of a converter that ONNX leaves open."""

    data_type: str = "s8"
    """`s8`, `s16` or `s4`: the type that float layers become; `f32` or `f16` where they stay float."""
    one_channel: str = "convolution"
    """`convolution` or `depthwise`: what a convolution with one group over one input channel becomes."""
    floating: FloatCall = FloatCall()
    """What calls for f32 and f16 are given: the form of their weights, and a buffer or none."""
    island: bool = False
    """Whether a layer of a quantized model is asked for that computes in float."""

    @property
    def stays_float(self) -> bool:
        """Whether layers that compute in float go to functions for floating-point numbers."""
        return self.data_type in FLOAT.types


# The verdict on a node: a function of CMSIS-NN, reference code, or no kernel; with the reason.


class Verdict(str, Enum):
    """Who computes a node."""

    CMSIS_NN = "CMSIS-NN"
    """A function of CMSIS-NN."""
    REFERENCE = "reference code"
    """Other code of the application or of its runtime; `in_reference_code` knows the application's."""
    NO_KERNEL = "no kernel"
    """Neither CMSIS-NN nor known reference code: the application has to bring a kernel. Or the runtime refuses it."""
    UNDECIDED = "undecided"
    """A size that is not known leaves it open."""


class Cause(str, Enum):
    """Why no function of CMSIS-NN computes a node, for programs."""

    NO_FUNCTION = "no-function"
    """CMSIS-NN has no function for the operator and data type, in this release or in any."""
    RANK = "rank"
    """Too many or too few axes."""
    ATTRIBUTE = "attribute"
    """An attribute or input that the function has no argument for."""
    AXIS = "axis"
    """It runs over an axis that is not the last in memory."""
    BROADCAST = "broadcast"
    """Operands of different shapes."""
    OPERAND_CONSTANT = "operand-constant"
    """An operand is a constant that no layer in front takes in."""
    OPERAND_COMPUTED = "operand-computed"
    """An operand is computed where the function takes constants."""
    CLAMP_SCALE = "clamp-scale"
    """A clamp behind a change of scale."""
    ACTIVATION_TYPE = "activation-type"
    """Activations of another type than int8, uint8 or int16, or of several types."""
    WEIGHT_TYPE = "weight-type"
    """Weights that are no integers of 4 or 8 bits."""
    WEIGHT_ZERO_POINT = "weight-zero-point"
    """Weights with a zero-point."""
    WEIGHT_SCALES = "weight-scales"
    """Weights with scales along another axis than that of the output channels, in blocks, or too many."""
    NO_PER_CHANNEL = "no-per-channel"
    """A scale for each output of a fully connected layer, in a release whose function takes one."""
    ZERO_POINT_S16 = "zero-point-s16"
    """int16 activations with a zero-point."""
    UNEQUAL_SCALES = "unequal-scales"
    """Input and output have different scales or zero-points."""
    SOFTMAX_SCALE = "softmax-scale"
    """Softmax's output has another scale or zero-point than the function gives it."""
    SCALE = "scale"
    """A scale that is not finite and above 0, or a multiplier out of range."""
    DYNAMIC_QUANTIZATION = "dynamic-quantization"
    """Scales known only at run time."""
    FLOAT = "float"
    """It computes in float in a quantized model."""
    FLOAT_RESULT = "float-result"
    """Its result is not quantized."""
    GROUPS = "groups"
    """The release computes a grouped convolution as a dense one."""
    RUNTIME = "runtime"
    """The runtime does not call the function for it."""
    LAYOUT = "layout"
    """No node: a copy from one memory order to another, in front of a layer."""
    SHAPE = "shape"
    """The rank or sizes of its operands are unknown."""


class Decision(NamedTuple):
    """Why a node is not computed by CMSIS-NN."""

    verdict: Verdict
    """Who computes it instead."""
    cause: Cause
    """Why, for programs."""
    reason: str
    """Why, as a clause for people; it names no tensor, so that equal reasons are one."""
    code: str = ""
    """Kind of reference code that computes it, a key of REFERENCE_TYPES; empty for every other verdict."""


def reference(cause: Cause, reason: str, code: str) -> Decision:
    """Reference code of a kind computes the node."""
    return Decision(Verdict.REFERENCE, cause, reason, code)


def no_kernel(cause: Cause, reason: str) -> Decision:
    """No kernel computes the node."""
    return Decision(Verdict.NO_KERNEL, cause, reason)


UNDECIDED = Decision(Verdict.UNDECIDED, Cause.SHAPE, "the rank or sizes of its operands are unknown")
"""A node that cannot be lowered for want of a shape, not of a kernel."""


# Operators and integer types that reference code computes.
#
# It is the code that the firmware check generates where CMSIS-NN has no function; runtimes have their own.


REFERENCE_TYPES: dict[str, tuple[str, ...]] = {
    Function.CONVOLVE: ("s8",),
    Function.TRANSPOSE_CONV: ("s8",),
    Function.FULLY_CONNECTED: ("s8",),
    Function.AVERAGE_POOL: ("s8",),
    Function.MAX_POOL: ("s8",),
    Function.ADD: ("s8",),
    Function.MUL: ("s8",),
    Function.SOFTMAX: ("s8",),
    Function.CONCATENATION: ("s8",),
    Function.PAD: ("s8",),
    "requantize": ("s8", "s16"),
    "lookup": ("s8",),
    "move": ("s8", "s16"),
    Function.TRANSPOSE: ("s8", "s16"),
}
"""Function, or kind of reference code, to the types it is for."""

CURVES = ("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Softplus", "Gelu")
"""Operators that are a function of one int8 activation, which a table of 256 integers gives."""
ARITHMETIC = ("Add", "Sum", "Sub", "Mul", "Div")
"""Operators that become such a function with one number as the other operand."""


def in_reference_code(kind: str, code: str, cause: Cause, reason: str) -> Decision:
    """Reference code where there is any for the type (`s8`, `s16`), else none; `code`: a key of REFERENCE_TYPES."""
    return reference(cause, reason, str(code)) if kind in REFERENCE_TYPES.get(code, ()) else no_kernel(cause, reason)
