"""Quantization of the tensors around a node, as QDQ pairs, operators on integers or `.tflite` tensors state it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import Assumptions, parameters_of
from onnxlint_cmsis.model.graph import Constant, Graph, Node
from onnxlint_cmsis.model.roles import Quantized, Sums
from onnxlint_cmsis.operators.record import MOVING, UNCHANGED, Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The real numbers of a stored constant: behind DequantizeLinear, and behind what only moves elements.


Read = Callable[[str], "NDArray[Any] | None"]
"""Values of a stored constant by its key."""
_KEPT = UNCHANGED | {Elements.CAST, Elements.QUANTIZED}
_MOST_NODES = 32
"""Nodes between a constant and its reader."""


def real_values(graph: Graph, read: Read, tensor: str, depth: int = _MOST_NODES) -> NDArray[np.float64] | None:
    """The numbers that a reader of a tensor sees; None where they are not stored."""
    if tensor in graph.constants:
        stored = read(tensor)
        return None if stored is None else np.asarray(stored, np.float64)
    node = graph.producers.get(tensor)
    if node is None or not node.inputs or not depth:
        return None
    operator = operator_of(node)
    inner = real_values(graph, read, node.inputs[0], depth - 1)
    if inner is None:
        return None
    if operator.dequantizes:
        return _dequantized(graph, read, node, inner)
    if operator.elements is Elements.TRANSPOSED:
        order = node.permutation(inner.ndim)
        return None if order is None else np.asarray(inner.transpose(order))
    return _shaped(graph, tensor, inner) if operator.elements in _KEPT else None


def _shaped(graph: Graph, tensor: str, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    shape = graph.shape(tensor)
    if shape is None or None in shape or int(np.prod([size or 0 for size in shape])) != values.size:
        return None
    return values.reshape([size or 0 for size in shape])


def _dequantized(graph: Graph, read: Read, node: Node, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    scale = real_values(graph, read, node.inputs[1], 1)
    zero = real_values(graph, read, node.inputs[2], 1) if node.inputs[2] else np.zeros(1)
    if scale is None or zero is None or node.int("block_size"):
        return None
    return dequantized(values, scale, zero, node.int("axis", 1))


def dequantized(
    values: NDArray[np.float64], scale: NDArray[np.float64], zero: NDArray[np.float64], axis: int
) -> NDArray[np.float64] | None:
    """Integers with their zero-points off and their scales on; None where these are not one for each place of an axis.

    A single scale or zero-point is that of all integers.
    """
    places = values.shape[axis] if -values.ndim <= axis < values.ndim else 1
    if scale.size not in (1, places) or zero.size not in (1, places):
        return None
    return np.asarray((values - along(zero, values.ndim, axis)) * along(scale, values.ndim, axis))


def along(numbers: NDArray[np.float64], rank: int, axis: int) -> NDArray[np.float64]:
    """One number for all, or one for each place along an axis, ready to be combined with a tensor of that rank."""
    if numbers.size == 1:
        return numbers.reshape(())
    shape = [1] * rank
    shape[axis] = numbers.size
    return numbers.reshape(shape)


# Types in which tensors are stored: behind Q/DQ pairs, and through operators that only move elements.


FOUR_BITS = frozenset({"int4", "uint4"})
EIGHT_BITS = frozenset({"int8", "uint8"})
SIXTEEN_BITS = frozenset({"int16", "uint16"})
STORED = FOUR_BITS | EIGHT_BITS | SIXTEEN_BITS
"""Element types of quantized tensors."""
MOVES = UNCHANGED | {Elements.TRANSPOSED}
"""Elements of operators that keep the elements of a tensor and their scale."""
_BEHIND = MOVES | {Elements.DEQUANTIZED, Elements.QUANTIZED, Elements.CAST}


def quantizes(node: Node | None) -> bool:
    """Whether there is a node and it is QuantizeLinear of any domain."""
    return node is not None and operator_of(node).quantizes


def dequantizes(node: Node | None) -> bool:
    """Whether there is a node and it is DequantizeLinear of any domain."""
    return node is not None and operator_of(node).dequantizes


def stored_type(graph: Graph, tensor: str) -> str:
    """Element type a tensor is stored in: that before DequantizeLinear, behind what only moves it, else its own."""
    for _ in range(len(graph.nodes) + 1):
        producer = graph.producers.get(tensor)
        if producer is None or not producer.inputs or graph.elem_type(tensor) in STORED:
            break
        if dequantizes(producer):
            return graph.elem_type(producer.inputs[0])
        if operator_of(producer).elements not in MOVES:
            break
        tensor = producer.inputs[0]
    return graph.elem_type(tensor)


def weights_behind(graph: Graph, tensor: str) -> Constant | None:
    """Constant a weight comes from, through Q/DQ and what only moves it; None where it is computed."""
    for _ in range(len(graph.nodes) + 1):
        if tensor in graph.constants:
            return graph.constants[tensor]
        producer = graph.producers.get(tensor)
        if producer is None or operator_of(producer).elements not in _BEHIND:
            return None
        tensor = producer.inputs[0]
    return None


def data_type(graph: Graph, activation: str, weights: str, assume: Assumptions) -> tuple[str, bool]:
    """CMSIS-NN suffix of a layer (`s8`, `s16`, `s4`, `f32`, `f16`) and whether it rests on `assume`.

    A layer that stays float is what the model says.

    s4 kernels take s8 activations with 4-bit weights; s16 kernels take s16 activations with s8 weights.
    """
    stored = "" if assume.island else stored_type(graph, activation)
    behind = weights_behind(graph, weights) if weights else None
    four_bits = behind is not None and behind.elem_type in FOUR_BITS
    if stored in SIXTEEN_BITS:
        return "s16", False
    if stored in EIGHT_BITS:
        return ("s4" if four_bits else "s8"), False
    if assume.stays_float:
        return assume.data_type, False
    return ("s4" if four_bits else assume.data_type), True


def activation_type(graph: Graph, tensor: str, assume: Assumptions) -> tuple[str, bool]:
    """As `data_type`, for kernels without weights, which know s8 and s16: activations of s4 layers are s8."""
    kind, assumed = data_type(graph, tensor, "", assume)
    return ("s8" if kind == "s4" else kind), assumed


# Quantization of one tensor: the type of its integers, their scales and zero-points.


OUTPUT = -1
"""Axis of the weights' scales in a quantized operator: that of the output channels."""
INTEGERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "int8": (-128, 127),
        "uint8": (0, 255),
        "int16": (-32768, 32767),
        "uint16": (0, 65535),
        "int4": (-8, 7),
        "uint4": (0, 15),
    }
)
"""Least and largest integer of each type, and so zero-point."""
UNSIGNED_OFFSET = 128
"""Offset from uint8 to int8, for integers and zero-points."""
TOLERANCE = 1e-6
"""Relative difference of scales that count as equal, as in TensorFlow Lite Micro (kernels/pooling_common.cc)."""


class AffineQuantization(NamedTuple):
    """Affine quantization of a tensor: real = scale * (integer - zero_point)."""

    elem_type: str
    """Type of the integers in the file."""
    scales: tuple[float, ...] | None
    """One scale, or one per index of `axis`; None where they are computed at run time."""
    zero_points: tuple[int, ...] | None
    """Zero-points in the file, as many; None where they are computed at run time."""
    axis: int = 1
    """Axis of several scales; OUTPUT for an operator that defines which it is."""
    blocks: bool = False
    """Whether scales hold for blocks along the axis."""

    @property
    def known(self) -> bool:
        """Whether scales and zero-points are fixed in the file."""
        return self.scales is not None and self.zero_points is not None

    @property
    def bits(self) -> int:
        """Bits of an integer."""
        return 4 if self.elem_type in FOUR_BITS else 8 if self.elem_type in EIGHT_BITS else 16

    @property
    def scale(self) -> float:
        """First scale; 0 where unknown."""
        return self.scales[0] if self.scales else 0.0

    @property
    def signed_zero_points(self) -> tuple[int, ...]:
        """Zero-points of the integers as the device holds them: uint8 less 128."""
        offset = UNSIGNED_OFFSET if self.elem_type == "uint8" else 8 if self.elem_type == "uint4" else 0
        zeros = self.zero_points or ()
        return tuple(zero - offset for zero in zeros) if offset else zeros

    def equals(self, other: AffineQuantization) -> bool:
        """Whether integers mean the same in both."""
        if self.elem_type != other.elem_type or self.zero_points != other.zero_points or not self.known:
            return False
        pairs = list(zip(self.scales or (), other.scales or (), strict=False))
        same = len(self.scales or ()) == len(other.scales or ())
        return same and all(abs(a - b) <= TOLERANCE * max(a, b) for a, b in pairs)


def wrong_scale(quantization: AffineQuantization) -> float | None:
    """First scale that is not finite and above 0; None where all are."""
    scales = quantization.scales or ()
    if not scales or (math.isfinite(sum(scales)) and min(scales) > 0):  # the sum of a NaN is one
        return None
    return next((scale for scale in scales if not (math.isfinite(scale) and scale > 0)), None)


def wrong_zero_point(quantization: AffineQuantization) -> int | None:
    """First zero-point that the integers' type does not hold; None where it holds all."""
    least, most = INTEGERS.get(quantization.elem_type, (-math.inf, math.inf))
    return next((zero for zero in quantization.zero_points or () if not least <= zero <= most), None)


def strange_numbers(quantizations: Iterable[AffineQuantization]) -> str:
    """What cannot be computed with among scales and zero-points, as a clause; empty where all can be."""
    for quantization in quantizations:
        scale, zero = wrong_scale(quantization), wrong_zero_point(quantization)
        if scale is not None:
            return f"a scale of its quantization is {scale}; scales are finite and above 0"
        if zero is not None:
            least, most = INTEGERS[quantization.elem_type]
            return f"a zero-point of its quantization is {zero}; {quantization.elem_type} holds {least} to {most}"
    return ""


# Quantization of a tensor, found in the graph: in Q/DQ pairs and in quantized operators.


_KEEPS = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""Elements of operators that keep the scale of integers; operators that resize keep it too."""
_REORDERS = (Elements.SAME, Elements.TRANSPOSED)
"""Elements of operators that keep an axis of scales one axis, though they may move it."""


def quantized_model(graph: Graph) -> bool:
    """Whether any activation of the model is quantized, so that its float nodes stay float."""
    for node in graph.nodes:
        operator = operator_of(node)
        integers = operator.elements is Elements.MEASURED or operator.roles.sums in (Sums.INTEGERS, Sums.SCALED)
        if quantizes(node) or dequantizes(node):
            if node.inputs and weights_behind(graph, node.inputs[0]) is None:
                return True
        elif integers or parameters_of(node, -1):
            return True
    return False


def of_input(graph: Graph, node: Node, position: int) -> AffineQuantization | None:
    """Quantization of an operand, from the operator or the DequantizeLinear in front; None for float."""
    carried = parameters_of(node, position)
    if carried is not None:
        return _parameters(graph, node, carried, node.inputs[position])
    tensor = node.inputs[position]
    for _ in range(len(graph.nodes) + 1):
        if graph.elem_type(tensor) in STORED:
            return of_integers(graph, tensor)
        producer = graph.producers.get(tensor)
        if producer is None or not producer.inputs:
            return None
        if dequantizes(producer):
            return _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
        if operator_of(producer).elements not in MOVES:
            return None
        tensor = producer.inputs[0]
    return None


def of_result(graph: Graph, node: Node) -> AffineQuantization | None:
    """Quantization of a node's integer result; None for a real result."""
    if not node.outputs:
        return None
    carried = parameters_of(node, -1)
    if carried is not None:
        return _parameters(graph, node, carried, node.outputs[0])
    if quantizes(node):
        return _parameters(graph, node, Quantized(-1, 1, 2), node.outputs[0])
    return of_integers(graph, node.outputs[0]) if graph.elem_type(node.outputs[0]) in STORED else None


def is_zero(graph: Graph, tensor: str) -> bool | None:
    """Whether a tensor is real zero in every run, through Q/DQ, casts and what moves or repeats elements.

    None where its values are stored and cannot be read. A tensor that is computed, or that a caller may give, is not.
    """
    return _holds(graph, tensor, 0, len(graph.nodes))


def _holds(graph: Graph, tensor: str, wanted: int, reach: int) -> bool | None:
    """Whether all stored elements of a tensor are one number."""
    stored, node = graph.constants.get(tensor), graph.producers.get(tensor)
    if stored is not None:
        values = stored.values()
        return None if values is None else not stored.overridable and all(value == wanted for value in values)
    if node is None or not node.inputs or not reach:
        return False
    if quantizes(node) or dequantizes(node):
        integers = of_result(graph, node) if quantizes(node) else of_input(graph, node, 0)
        zeros = set(integers.zero_points or ()) if integers else set()
        if len(zeros) != 1:
            return None if zeros else False
        zero = zeros.pop()
        here, before = (zero, 0) if quantizes(node) else (0, zero)
        return _holds(graph, node.inputs[0], before, reach - 1) if wanted == here else False
    if operator_of(node).elements in MOVES | {Elements.CAST} or canonical(node) in ("Expand", "Tile"):
        return _holds(graph, node.inputs[0], wanted, reach - 1)
    return False


def of_integers(graph: Graph, tensor: str) -> AffineQuantization | None:
    """Quantization of a tensor of integers: from its producer, else from its reader; None where neither says."""
    source = tensor
    for _ in range(len(graph.nodes) + 1):
        producer = graph.producers.get(source)
        if producer is None or not producer.inputs:
            break
        if quantizes(producer) or parameters_of(producer, -1):
            return of_result(graph, producer)
        if not keeps_scale(producer):
            break
        source = producer.inputs[0]
    waiting, seen = [tensor], {tensor}
    while waiting:
        name = waiting.pop(0)
        for reader in graph.consumers.get(name, ()):
            position = reader.inputs.index(name) if name in reader.inputs else -1
            carried = Quantized(0, 1, 2) if dequantizes(reader) else parameters_of(reader, position)
            if carried is not None and position == carried.value:
                return _parameters(graph, reader, carried, name)
            if keeps_scale(reader) and position == 0 and reader.outputs[0] not in seen:
                waiting.append(reader.outputs[0])
                seen.add(reader.outputs[0])
    return None


def keeps_scale(node: Node) -> bool:
    """Whether a node on integers gives integers of the same scale."""
    return operator_of(node).elements in _KEEPS or canonical(node) in ("Resize", "Upsample")


def of_weights(graph: Graph, node: Node, position: int) -> AffineQuantization | None:
    """Quantization of weights, their axis as the layer sees them; None where they are float.

    The values of the weights are not read.
    """
    tensor, moves = node.inputs[position], []
    carried = parameters_of(node, position)
    if carried is not None:
        return _parameters(graph, node, carried, tensor)._replace(axis=OUTPUT)
    producer = graph.producers.get(tensor)
    while producer is not None and operator_of(producer).elements in _REORDERS:
        moves.append(producer)
        producer = graph.producers.get(producer.inputs[0])
    if producer is None or not dequantizes(producer):
        return None
    quantization = _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
    rank = len(graph.shape(producer.inputs[0]) or ())
    for move in reversed(moves):
        order = move.permutation(rank or len(move.ints("perm")))
        axis = quantization.axis % rank if rank else quantization.axis
        if operator_of(move).elements is Elements.TRANSPOSED and order and axis in order:
            quantization = quantization._replace(axis=order.index(axis))
    return quantization


def _parameters(graph: Graph, node: Node, where: Quantized, tensor: str) -> AffineQuantization:
    """Quantization of one of a node's values."""
    scale_name, zero_name = _input(node, where.scale), _input(node, where.zero_point)
    scales, zeros = _numbers(graph, scale_name), (0,) if not zero_name else _numbers(graph, zero_name)
    elem_type = graph.elem_type(tensor) or graph.elem_type(zero_name) or ("" if zero_name else "uint8")
    return AffineQuantization(
        elem_type,
        None if scales is None else tuple(map(float, scales)),
        None if zeros is None or not all(map(isfinite, zeros)) else tuple(map(int, zeros)),
        node.int("axis", 1),
        bool(node.int("block_size")),
    )


def _input(node: Node, position: int) -> str:
    return node.inputs[position] if 0 <= position < len(node.inputs) else ""


def _numbers(graph: Graph, tensor: str) -> tuple[int | float, ...] | None:
    constant = weights_behind(graph, tensor) if tensor else None
    return constant.values() if constant else None


def per_channel(graph: Graph, node: Node, position: int, channels: int | None) -> bool:
    """Tell whether the weights carry one scale per output channel.

    A layer that computes in float carries none: it becomes a per-tensor layer unless the converter says otherwise.
    """
    carried = parameters_of(node, position)
    if carried is not None:
        return scale_count(graph, _input(node, carried.scale)) > 1
    producer = graph.producers.get(node.inputs[position])
    while producer is not None and operator_of(producer).elements in _REORDERS:
        producer = graph.producers.get(producer.inputs[0])
    if producer is None or not dequantizes(producer):
        return False
    return scale_count(graph, producer.inputs[1]) > 1 and channels != 1


def scale_count(graph: Graph, scale: str) -> int:
    """Count the entries of a scale tensor; 1 where its shape is unknown."""
    count = 1
    for size in graph.shape(scale) or ():
        count *= size or 1
    return count


# Pairs of DequantizeLinear and QuantizeLinear that give back the integers they read.


def useless_pairs(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """DequantizeLinear and the QuantizeLinear right behind it that has its type, scale and zero-point."""
    for node in graph.nodes:
        if not quantizes(node) or not node.inputs:
            continue
        before = graph.producers.get(node.inputs[0])
        if before is None or not dequantizes(before) or weights_behind(graph, node.inputs[0]):
            continue
        source, result = of_input(graph, node, 0), of_result(graph, node)
        if source is not None and result is not None and source.equals(result):
            yield before, node
