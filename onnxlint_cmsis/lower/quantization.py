"""What the model says of numbers: types, scales and zero-points behind Q/DQ pairs and in quantized operators."""

from __future__ import annotations

import math
from typing import NamedTuple

from onnxlint_cmsis.graph.model import Constant, Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.operators.facets import MOVING, UNCHANGED, Elements
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Quantized

_FOUR_BITS = frozenset({"int4", "uint4"})
_EIGHT_BITS = frozenset({"int8", "uint8"})
_SIXTEEN_BITS = frozenset({"int16", "uint16"})
STORED = _FOUR_BITS | _EIGHT_BITS | _SIXTEEN_BITS
"""Element types of quantized tensors."""
MOVES = UNCHANGED | {Elements.TRANSPOSED}
"""What operators make behind which a tensor holds the same elements, of the same scale."""
_KEEPS = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""What operators make that on integers give integers of the same scale; those that resize do so too."""
_BEHIND = MOVES | {Elements.DEQUANTIZED, Elements.QUANTIZED, Elements.CAST}
_REORDERS = (Elements.SAME, Elements.TRANSPOSED)
"""What operators make behind which an axis of scales is the same axis, wherever it is moved."""
OUTPUT = -1
"""Axis of the weights' scales in a quantized operator: that of the output channels."""
UNSIGNED_OFFSET = 128
"""What is taken off integers and zero-point alike where uint8 is held as int8."""
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
        return 4 if self.elem_type in _FOUR_BITS else 8 if self.elem_type in _EIGHT_BITS else 16

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


def is_quantize(node: Node | None, op_type: str) -> bool:
    """Tell whether the node is QuantizeLinear or DequantizeLinear, in the default or Microsoft's domain."""
    return node is not None and node.op_type == op_type and node.domain in ("", "com.microsoft")


def quantized_model(graph: Graph) -> bool:
    """Whether any activation of the model is quantized, so that what computes in float stays float."""
    for node in graph.nodes:
        if node.op_type in ("DynamicQuantizeLinear", "ConvInteger", "MatMulInteger") or parameters_of(node, -1):
            return True
        stores = is_quantize(node, "QuantizeLinear") or is_quantize(node, "DequantizeLinear")
        if stores and node.inputs and weights_behind(graph, node.inputs[0]) is None:
            return True
    return False


def of_input(graph: Graph, node: Node, position: int) -> AffineQuantization | None:
    """Quantization of an operand, which the operator carries or a DequantizeLinear in front has; None for float."""
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
        if is_quantize(producer, "DequantizeLinear"):
            return _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
        if operator_of(producer).elements not in MOVES:
            return None
        tensor = producer.inputs[0]
    return None


def of_result(graph: Graph, node: Node) -> AffineQuantization | None:
    """Quantization of the integers that a node gives out; None where it gives out reals."""
    carried = parameters_of(node, -1)
    if carried is not None:
        return _parameters(graph, node, carried, node.outputs[0])
    if is_quantize(node, "QuantizeLinear"):
        return _parameters(graph, node, Quantized(-1, 1, 2), node.outputs[0])
    return of_integers(graph, node.outputs[0]) if graph.elem_type(node.outputs[0]) in STORED else None


def of_integers(graph: Graph, tensor: str) -> AffineQuantization | None:
    """Quantization of a tensor of integers: from what makes it, else from what reads it; None where neither tells."""
    source = tensor
    for _ in range(len(graph.nodes) + 1):
        producer = graph.producers.get(source)
        if producer is None or not producer.inputs:
            break
        if is_quantize(producer, "QuantizeLinear") or parameters_of(producer, -1):
            return of_result(graph, producer)
        if not _keeps(producer):
            break
        source = producer.inputs[0]
    return _of_readers(graph, tensor)


def _keeps(node: Node) -> bool:
    """Whether a node on integers gives integers of the same scale."""
    return operator_of(node).elements in _KEEPS or node.is_op("Resize", "Upsample")


def _of_readers(graph: Graph, tensor: str) -> AffineQuantization | None:
    waiting, seen = [tensor], {tensor}
    while waiting:
        name = waiting.pop(0)
        for reader in graph.consumers.get(name, ()):
            place = reader.inputs.index(name) if name in reader.inputs else -1
            carried = Quantized(0, 1, 2) if is_quantize(reader, "DequantizeLinear") else parameters_of(reader, place)
            if carried is not None and place == carried.value:
                return _parameters(graph, reader, carried, name)
            if _keeps(reader) and place == 0 and reader.outputs and reader.outputs[0] not in seen:
                waiting.append(reader.outputs[0])
                seen.add(reader.outputs[0])
    return None


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
    if producer is None or not is_quantize(producer, "DequantizeLinear"):
        return None
    found = _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
    rank = len(graph.shape(producer.inputs[0]) or ())
    for move in reversed(moves):
        order = move.ints("perm") or tuple(reversed(range(rank)))
        axis = found.axis % rank if rank else found.axis
        if operator_of(move).elements is Elements.TRANSPOSED and axis in order:
            found = found._replace(axis=order.index(axis))
    return found


def _parameters(graph: Graph, node: Node, where: Quantized, tensor: str) -> AffineQuantization:
    """What a node says of one of its values."""
    scale_name, zero_name = _input(node, where.scale), _input(node, where.zero_point)
    scales, zeros = _numbers(graph, scale_name), (0,) if not zero_name else _numbers(graph, zero_name)
    elem_type = graph.elem_type(tensor) or graph.elem_type(zero_name) or ("" if zero_name else "uint8")
    return AffineQuantization(
        elem_type,
        None if scales is None else tuple(map(float, scales)),
        None if zeros is None else tuple(map(int, zeros)),
        node.int("axis", 1),
        bool(node.int("block_size")),
    )


def _input(node: Node, position: int) -> str:
    return node.inputs[position] if 0 <= position < len(node.inputs) else ""


def _numbers(graph: Graph, tensor: str) -> tuple[int | float, ...] | None:
    constant = weights_behind(graph, tensor) if tensor else None
    return constant.values() if constant else None


def wrong_scale(quantization: AffineQuantization) -> float | None:
    """First scale that is not finite and above 0; None where all are."""
    scales = quantization.scales or ()
    if not scales or (math.isfinite(sum(scales)) and min(scales) > 0):  # the sum of a NaN is one
        return None
    return next((scale for scale in scales if not (math.isfinite(scale) and scale > 0)), None)


def stored_type(graph: Graph, tensor: str) -> str:
    """Element type a tensor is stored in: that before DequantizeLinear, behind what only moves it, else its own."""
    for _ in range(len(graph.nodes) + 1):
        producer = graph.producers.get(tensor)
        if producer is None or not producer.inputs or graph.elem_type(tensor) in STORED:
            break
        if is_quantize(producer, "DequantizeLinear"):
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
        if not producer.inputs:
            return None
        tensor = producer.inputs[0]
    return None


def data_type(graph: Graph, activation: str, weights: str, assume: Assumptions) -> tuple[str, bool]:
    """CMSIS-NN suffix of a layer (`s8`, `s16`, `s4`) and whether it rests on `assume`.

    s4 kernels take s8 activations with 4-bit weights; s16 kernels take s16 activations with s8 weights.
    """
    stored = stored_type(graph, activation)
    behind = weights_behind(graph, weights) if weights else None
    four_bits = behind is not None and behind.elem_type in _FOUR_BITS
    if stored in _SIXTEEN_BITS:
        return "s16", False
    if stored in _EIGHT_BITS:
        return ("s4" if four_bits else "s8"), False
    return ("s4" if four_bits else assume.data_type), True


def activation_type(graph: Graph, tensor: str, assume: Assumptions) -> tuple[str, bool]:
    """As `data_type`, for kernels without weights, which know s8 and s16: activations of s4 layers are s8."""
    kind, assumed = data_type(graph, tensor, "", assume)
    return ("s8" if kind == "s4" else kind), assumed


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
    if producer is None or not is_quantize(producer, "DequantizeLinear") or len(producer.inputs) < 2:
        return False
    return scale_count(graph, producer.inputs[1]) > 1 and channels != 1


def scale_count(graph: Graph, scale: str) -> int:
    """Count the entries of a scale tensor; 1 where its shape is unknown."""
    count = 1
    for size in graph.shape(scale) or ():
        count *= size or 1
    return count
