"""How a layer ends on the device: the tensor that it writes, its scale and its bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmware_check.program import Quantization, Value
from firmware_check.reading.state import Workspace, on_device
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.epilogue import CLAMPS
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import channels_last, reshaped
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.operators.curve import RELU


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
