"""What follows a layer's operator up to the QuantizeLinear that ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.reading.constants import BITS
from firmware_check.reading.unsupported import Unsupported
from firmware_check.reading.views import channels_last, reshaped

if TYPE_CHECKING:
    from firmware_check.program import Quantization, Value
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node


@dataclass(frozen=True, eq=False)
class Sink:
    """How a layer ends."""

    tensor: str
    """Quantized tensor that it makes."""
    quantization: Quantization
    """Of that tensor."""
    limits: tuple[int, int]
    """Smallest and largest integer, from Relu, Clip and the integers' own range."""
    added: np.ndarray | None
    """Real constant added behind the operator, None where there is none."""
    absorbed: tuple[Node, ...]
    """Nodes that the layer computes besides its operator."""


def sink_of(builder: Builder, node: Node, may_add: bool = False) -> Sink:
    """Follow a node's output through a constant Add (where allowed), Relu and Clip to its QuantizeLinear."""
    if builder.graph.elem_type(node.outputs[0]) in BITS:  # the operator works on integers as they are
        quantization = builder.known(node.inputs[0]).quantization
        return Sink(node.outputs[0], quantization, (quantization.lowest, quantization.highest), None, ())
    absorbed: list[Node] = []
    limits: list[tuple[float, float]] = []
    added: np.ndarray | None = None
    tensor = node.outputs[0]
    while True:
        reader = _only_reader(builder, tensor)
        if reader.op_type == "QuantizeLinear":
            break
        if may_add and added is None and not limits and reader.is_op("Add"):
            added = _constant_operand(builder, reader, tensor)
        elif reader.is_op("Relu", "Clip"):
            limits.append(clip_limits(builder, reader))
        else:
            raise Unsupported(f"{reader.op_type} '{reader.label}' follows before the result is quantized")
        absorbed.append(reader)
        tensor = reader.outputs[0]
    quantization = builder.constants.quantization(reader)
    low = max([quantization.lowest, *(quantization.integer(lower) for lower, _ in limits)])
    high = min([quantization.highest, *(quantization.integer(upper) for _, upper in limits)])
    builder.done.update(each.index for each in (*absorbed, reader))
    return Sink(reader.outputs[0], quantization, (low, high), added, (*absorbed, reader))


def like(builder: Builder, node: Node, sink: Sink, source: Value | None = None) -> Value:
    """The output of a layer, channels last or in the order of one of its inputs."""
    shape = builder.shape(node.outputs[0])
    order = source.order if source is not None else channels_last(len(shape))
    output = builder.new(sink.tensor, shape, order, sink.quantization)
    final = builder.shape(sink.tensor)
    return output if final == shape else reshaped(output, final)


def clip_limits(builder: Builder, node: Node) -> tuple[float, float]:
    """Bounds of a Relu or a Clip, as attributes or constant inputs."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    bounds = []
    for place, (name, missing) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        given = node.attributes.get(name, missing)
        if len(node.inputs) > place and node.inputs[place]:
            given = float(builder.constants.real(node.inputs[place]).reshape(-1)[0])
        bounds.append(float(given) if isinstance(given, (int, float)) else missing)
    return bounds[0], bounds[1]


def _only_reader(builder: Builder, tensor: str) -> Node:
    readers = builder.graph.consumers.get(tensor, ())
    if tensor in builder.graph.outputs:
        raise Unsupported(f"its result '{tensor}' leaves the model as float")
    if len(readers) != 1:
        raise Unsupported(f"{len(readers)} nodes read its result before it is quantized")
    return readers[0]


def _constant_operand(builder: Builder, node: Node, tensor: str) -> np.ndarray:
    other = node.inputs[1] if node.inputs[0] == tensor else node.inputs[0]
    if not builder.constants.fixed(other):
        raise Unsupported(f"Add '{node.label}' follows before the result is quantized")
    return builder.constants.real(other)
