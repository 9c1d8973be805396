"""Float layers with weights."""

from __future__ import annotations

from firmware_check.program import Elements, FloatOperands
from firmware_check.reading.float_numbers import (
    CallConstants,
    add_layer,
    bias_spread,
    held,
    operands_of_layer,
    weight_arrays,
)
from firmware_check.reading.float_space import FloatSpace
from firmware_check.reading.state import Workspace
from firmware_check.reading.weighted import layer_of, reordered_columns, source_of, two_dimensional
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import channels_last


def _weighted(space: FloatSpace, record: LoweredLayer, weights: Elements, bias: Elements) -> CallConstants:
    """What a layer is given whose weights are in the function's order."""
    call, numbers = layer_of(record).call, space.numbers
    given = held(numbers, bias) if call.bias else None
    operands = FloatOperands(held(numbers, weights), given, bias_spread(space, record, bias))
    return CallConstants(operands=operands, arrays=weight_arrays(call, numbers, operands))


def build_convolution(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Conv: OHWI weights, or 1HWO where it is depthwise; ConvTranspose: OHWI."""
    assert isinstance(space, FloatSpace)
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    operands = operands_of_layer(space, record)
    weights = two_dimensional(operands.weights)
    depthwise = layer.call.function is Function.DEPTHWISE
    laid_out = weights.transpose(1, 2, 3, 0) if depthwise else weights.transpose(0, 2, 3, 1)
    shape = space.shape(node.outputs[0])
    output = space.result(record, shape, channels_last(len(shape)))
    add_layer(space, record, (source,), output, _weighted(space, record, laid_out, operands.bias))


def build_dense(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Gemm and MatMul with a constant factor: weights [out_c, depth], columns in the order of the input's memory."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source, operands = space.known(node.inputs[0]), operands_of_layer(space, record)
    laid_out = reordered_columns(source, operands.weights)
    if laid_out is None:
        source = space.ordered(node, source, tuple(range(len(source.shape))))
        laid_out = operands.weights
    shape = (*source.shape[:-1], laid_out.shape[0])
    output = space.result(record, shape, tuple(range(len(shape))))
    add_layer(space, record, (source,), output, _weighted(space, record, laid_out, operands.bias))
