"""What numbers a model takes and gives: its inputs and outputs as they lie in the device's memory."""

from __future__ import annotations

import re
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.coverage import holds_integers
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layer import Stored, Verdict, becomes_image, channels_last, is_image, lies_in, shape_text
from onnxlint_cmsis.lower.quantization import (
    EIGHT_BITS,
    MOVES,
    STORED,
    AffineQuantization,
    dequantizes,
    of_input,
    of_integers,
    of_result,
    quantized_model,
    quantizes,
)
from onnxlint_cmsis.operators.record import Elements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


IMAGE_RANK = 4
"""Axes of an image."""
CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
"""Operators of TensorFlow Lite between real numbers and integers."""
PASSES = MOVES | {Elements.QUANTIZED, Elements.DEQUANTIZED, Elements.REQUANTIZED}
"""Elements of operators between the edge of a model and its first or last layer."""
INTEGERS = re.compile(r"(u?)int(\d+)")


class Conversion(str, Enum):
    """Who turns real numbers into the integers of an input, and those of an output back."""

    APPLICATION = "application"
    """The application: the tensor holds integers."""
    MODEL = "model"
    """An operator of the model: the tensor holds real numbers."""
    CONVERTER = "converter"
    """What a converter writes decides whether the application or the model does."""
    QUANTIZER = "quantizer"
    """The model computes in float: what quantizes it decides on scale and zero-point."""
    NONE = "none"
    """Nobody: the tensor holds real numbers that stay so, or integers without a scale."""


class Ties(str, Enum):
    """Where a number between two integers goes."""

    EVEN = "to even"
    """QuantizeLinear (onnx.ai/onnx/operators/onnx__QuantizeLinear.html)."""
    AWAY = "away from zero"
    """TensorFlow Lite Micro 90b983c2: TfLiteRound in AffineQuantize (lite/kernels/internal/reference/quantize.h, line
    46), and `round` in FloatToQuantizedType (lite/micro/micro_utils.h, line 43)."""


def shortest(scale: float) -> str:
    """The shortest decimal number of which the nearest float32 is this scale."""
    return str(np.float32(scale))


class BoundaryTensor(NamedTuple):
    """An input or an output of a model."""

    role: str
    """`input` or `output`."""
    name: str
    """Tensor in the file."""
    elem_type: str
    """numpy-like type of what lies in the device's memory; empty where unknown."""
    shape: tuple[Size, ...] | None
    """Sizes from the slowest axis in memory to the fastest; None where the rank is unknown."""
    layout: str = ""
    """`NHWC` or `NWC` where these are the axes of an image; empty for all else."""
    file_type: str = ""
    """Type in the file."""
    file_shape: tuple[Size, ...] | None = None
    """Sizes in the file's order."""
    conversion: Conversion = Conversion.NONE
    """Who converts between real numbers and integers."""
    integers: str = ""
    """Type of the integers, as the device has them; empty where there are none with a scale."""
    scale: float | None = None
    """real = scale * (integer - zero_point); None where there is none, or no one number."""
    zero_point: int | None = None
    """Integer of real 0."""
    node: str = ""
    """Label of the node that states scale and zero-point; empty where the tensor itself does."""
    ties: Ties = Ties.EVEN
    """How the numbers of an input are rounded."""

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and largest integer of the type."""
        bits = int(self.integers.rpartition("int")[2])
        return (0, (1 << bits) - 1) if self.integers[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    @property
    def real_bounds(self) -> tuple[float, float]:
        """Least and largest real number that has an integer."""
        low, high = ((self.scale or 0.0) * (bound - (self.zero_point or 0)) for bound in self.bounds)
        return low, high

    @property
    def formula(self) -> str:
        """`q = round(x / 0.0078125) - 1`, or `x = 0.0078125 * (q + 1)` for an output; empty without a scale."""
        if self.scale is None:
            return ""
        step, zero = shortest(self.scale), self.zero_point or 0
        if self.role == "output":
            return f"x = {step} * (q {'-' if zero > 0 else '+'} {abs(zero)})" if zero else f"x = {step} * q"
        offset = f" {'-' if zero < 0 else '+'} {abs(zero)}" if zero else ""
        return f"q = round(x / {step}){offset}"

    @property
    def text(self) -> str:
        """What it holds, as a clause."""
        kind = f"{self.elem_type or 'unknown type'} {shape_text(self.shape)} {self.layout}".rstrip()
        if self.conversion is Conversion.NONE:
            return f"{kind}, {'real numbers' if self.elem_type.startswith('float') else 'used as it is'}"
        if self.conversion is Conversion.QUANTIZER:
            return f"{kind}; what quantizes the model decides on scale and zero-point"
        numbers = "no one scale that is known"
        if self.scale is not None:
            low, high = self.real_bounds
            tied = f", ties {self.ties.value}" if self.role == "input" else ""
            numbers = f"{self.formula}, x from {low:.6g} to {high:.6g}{tied}"
        if self.conversion is Conversion.APPLICATION:
            return f"{kind}, {numbers}"
        if self.conversion is Conversion.CONVERTER:
            return f"{kind} in the file, {self.integers}: {numbers}; the converter decides on type and order"
        verb = "quantizes" if self.role == "input" else "dequantizes"
        return f"{kind}, real numbers; the model {verb}, {self.integers}: {numbers}"


def boundary(model: ModelAnalysis) -> tuple[BoundaryTensor, ...]:
    """Inputs, then outputs of a model, in file order; a tensor that is quantized in several ways has a row for each."""
    graph = model.graph
    ends = [("input", name) for name in graph.inputs] + [("output", name) for name in graph.outputs]
    rows = _of_tflite if model.interpretation else _of_onnx
    return tuple(row for role, name in ends for row in rows(model, _as_stated(graph, role, name)))


def _as_stated(graph: Graph, role: str, name: str) -> BoundaryTensor:
    """A tensor as the file has it."""
    elem_type, shape = graph.elem_type(name), graph.shape(name)
    return BoundaryTensor(role, name, elem_type, shape, file_type=elem_type, file_shape=shape)


# Tensors of a `.tflite` file, which TensorFlow Lite Micro holds as they are.


def _of_tflite(model: ModelAnalysis, tensor: BoundaryTensor) -> Iterator[BoundaryTensor]:
    graph, name = model.graph, tensor.name
    tensor = tensor._replace(ties=Ties.AWAY, layout="NHWC" if _in_windows(graph, name) else "")
    if not tensor.elem_type.startswith("float"):
        yield _stored(graph, tensor, name, Conversion.APPLICATION)
        return
    around = [graph.producers.get(name)] if tensor.role == "output" else graph.consumers.get(name, ())
    nodes = [node for node in around if node and canonical(node) in CONVERSIONS]
    ends = [(node, node.inputs[0] if tensor.role == "output" else node.outputs[0]) for node in nodes]
    for node, integers in ends:
        yield _stored(graph, tensor, integers, Conversion.MODEL)._replace(node=node.label)
    if not ends:
        yield tensor


def _stored(graph: Graph, tensor: BoundaryTensor, integers: str, conversion: Conversion) -> BoundaryTensor:
    """The tensor with scale and zero-point that the file keeps on a tensor of integers."""
    stored, kind = graph.quantization.get(integers), graph.elem_type(integers)
    if stored is None or not INTEGERS.fullmatch(kind) or not stored.scales:
        return tensor
    numbers = _numbers(stored.scales, stored.zero_points or (0,))
    return tensor._replace(conversion=conversion, integers=kind, **numbers)


def _in_windows(graph: Graph, name: str) -> bool:
    """Whether a convolution or pool reads or writes a tensor of four axes, maybe beyond a change of type or a PAD."""
    ends, seen = [name], {name}
    while ends:
        end = ends.pop()
        for node in (*graph.consumers.get(end, ()), *filter(None, [graph.producers.get(end)])):
            if "stride_h" in node.attributes:
                return len(graph.shape(name) or ()) == IMAGE_RANK
            if canonical(node) in (*CONVERSIONS, "Pad"):
                more = {*node.inputs[:1], *node.outputs} - seen
                seen |= more
                ends += more
    return False


# Tensors of an ONNX model: QuantizeLinear and DequantizeLinear at the edge are the application's, as CMSIS-NN has none.


def _of_onnx(model: ModelAnalysis, tensor: BoundaryTensor) -> Iterator[BoundaryTensor]:
    graph, judges, assume = model.graph, model.settings.runtime.judges, model.settings.assume
    computed = any(record.verdict in (Verdict.CMSIS_NN, Verdict.REFERENCE) for record in _records_at(model, tensor))
    if computed and not judges and tensor.name in model.layout.stored:
        tensor = _in_memory(graph, tensor, model.layout.stored[tensor.name])
    assumed = computed and model.lowered.assumed and not quantized_model(graph)
    for numbers, node in _quantizations(graph, tensor):
        if numbers is not None:
            yield _with_numbers(tensor, numbers, Conversion.CONVERTER if judges else Conversion.APPLICATION, node)
        elif assumed and tensor.elem_type.startswith("float"):
            becomes = "int16" if assume in ("s16", "q15") else "int8"
            tensor = tensor._replace(elem_type=becomes)
            decided = holds_integers(model)  # its floats are these integers
            yield tensor if decided else tensor._replace(integers=becomes, conversion=Conversion.QUANTIZER)
        else:
            yield tensor


def _records_at(model: ModelAnalysis, tensor: BoundaryTensor) -> list[LoweredLayer]:
    """Layers that read an input or write an output, beyond what quantizes it or moves its elements."""
    graph = model.graph
    if tensor.role == "input":
        nodes = [*_readers(graph, tensor.name, PASSES)]
    else:
        node = graph.producers.get(tensor.name)
        while node is not None and node.inputs and operator_of(node).elements in PASSES:
            node = graph.producers.get(node.inputs[0])
        nodes = [node] if node is not None else []
    at = {node.index for node in nodes}
    return [record for record in model.lowered.records if record.node.index in at]


def _with_numbers(
    tensor: BoundaryTensor, numbers: AffineQuantization, conversion: Conversion, node: str
) -> BoundaryTensor:
    scales, zeros = numbers.scales or (), numbers.zero_points or ()
    integers = numbers.elem_type
    if not INTEGERS.fullmatch(integers):  # a damaged file may state a zero-point of another type
        return tensor._replace(conversion=conversion, node=node)
    if conversion is Conversion.APPLICATION:
        integers, zeros = integers.removeprefix("u") if integers in EIGHT_BITS else integers, numbers.signed_zero_points
        tensor = tensor._replace(elem_type=integers)
    return tensor._replace(conversion=conversion, integers=integers, node=node, **_numbers(scales, zeros))


def _numbers(scales: tuple[float, ...], zero_points: tuple[int, ...]) -> dict[str, Any]:
    """The one scale and zero-point of a whole tensor; none where there are several, or the scale cannot be one."""
    usable = len(scales) == 1 and zero_points and isfinite(scales[0]) and scales[0] > 0
    return {"scale": scales[0], "zero_point": zero_points[0]} if usable else {}


def _quantizations(graph: Graph, tensor: BoundaryTensor) -> Iterator[tuple[AffineQuantization | None, str]]:
    """Each quantization of a tensor with the label of the node that states it; None where it is used as it is."""
    if tensor.elem_type in STORED:
        yield of_integers(graph, tensor.name), ""
    elif tensor.role == "output":
        node = graph.producers.get(tensor.name)
        while node is not None and node.inputs and operator_of(node).elements in MOVES:
            node = graph.producers.get(node.inputs[0])
        yield (of_input(graph, node, 0), node.label) if node is not None and dequantizes(node) else (None, "")
    else:
        told: list[AffineQuantization | None] = []
        for node in _readers(graph, tensor.name, MOVES):
            numbers = of_result(graph, node) if quantizes(node) else None
            if numbers not in told:
                told.append(numbers)
                yield numbers, node.label if numbers else ""
        if not told:
            yield None, ""


def _readers(graph: Graph, name: str, passes: Collection[Elements]) -> Iterator[Node]:
    """Nodes that read a tensor, beyond those whose elements are of these kinds."""
    waiting, seen = [name], {name}
    while waiting:
        for node in graph.consumers.get(waiting.pop(0), ()):
            if operator_of(node).elements not in passes or not node.outputs:
                yield node
            elif node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                waiting.append(node.outputs[0])


def _in_memory(graph: Graph, tensor: BoundaryTensor, stored: Stored) -> BoundaryTensor:
    """The tensor in the order in which its elements lie."""
    value = stored.folded_from or stored
    rank = len(value.shape)
    letters = {3: "NWC", IMAGE_RANK: "NHWC"}.get(rank, "")
    image = becomes_image(graph, tensor.name) if tensor.role == "input" else is_image(graph, tensor.name)
    if image and lies_in(value, channels_last(rank)):
        value = Stored(value.shape, channels_last(rank))
    elif not _becomes_nchw(graph, tensor.name, rank):
        letters = ""
    return tensor._replace(shape=tuple(value.shape[axis] for axis in value.order), layout=letters)


def _becomes_nchw(graph: Graph, name: str, rank: int) -> bool:
    """Whether a Transpose from channels last to channels first reads an input, maybe behind a QuantizeLinear."""
    around = [*graph.consumers.get(name, ())]
    around += [reader for node in around if quantizes(node) for reader in graph.consumers.get(node.outputs[0], ())]
    around += [reader for node in around if dequantizes(node) for reader in graph.consumers.get(node.outputs[0], ())]
    return rank > 1 and any(node.ints("perm") == (0, rank - 1, *range(1, rank - 1)) for node in around)
