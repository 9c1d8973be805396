"""Numbers of float calls: clamps, weights in the order of the function, and what they are in double precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from firmware_check.program import Array, Elements, FloatNumbers, FloatOperands, Step, Value
from firmware_check.reading.float_space import FloatSpace
from firmware_check.reading.results import clip_limits
from firmware_check.reading.unreadable import Unsupported
from firmware_check.reading.weighted import layer_of
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Function, KernelCall
from onnxlint_cmsis.lower.epilogue import CLAMPS
from onnxlint_cmsis.lower.folded_weights import FoldedWeights, folded, with_epilogue
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Node


def limits_of(space: FloatSpace, record: LoweredLayer) -> tuple[float, float]:
    """Least and largest number that a layer writes: those of the type where nothing clamps."""
    most = space.numbers.largest
    clamps = [node for node in (record.epilogue.fused if record.epilogue else ()) if node.is_op(*CLAMPS)]
    bounds = [clip_limits(space, node) for node in clamps]
    low, high = max([-most, *(low for low, _ in bounds)]), min([most, *(high for _, high in bounds)])
    if np.isnan(low) or np.isnan(high):
        raise Unsupported("it clamps to what is no number")
    return max(low, -most), min(high, most)


def packed_blocks(weights: Elements, block: int) -> Elements:
    """Weights [out_c, depth] in blocks of output channels, [blocks, depth, block], the last one filled up with zeros.

    This is ARM_NN_WEIGHT_FORMAT_NT_N_PACKED, as arm_nn_mat_mult_nt_n_packed_f32.c:66-90 reads it; no function of
    CMSIS-NN writes it.
    """
    out_c, depth = weights.shape
    filled = np.pad(weights, ((0, -out_c % block), (0, 0)))
    return np.asarray(filled.reshape(-1, block, depth).transpose(0, 2, 1))


BLOCK = {"f32": 4, "f16": 8}
"""Output channels of a block of packed weights."""


def weight_arrays(call: KernelCall, numbers: FloatNumbers, operands: FloatOperands) -> tuple[Array, ...]:
    """Weights and bias of a call as the device holds them."""
    weights = operands.weights
    assert call.floating is not None
    if call.floating.packed:
        weights = packed_blocks(weights.reshape(weights.shape[0], -1), BLOCK[call.types])
    bias = () if operands.bias is None else (Array("bias", numbers.c_type, operands.bias),)
    return Array("weights", numbers.c_type, np.ascontiguousarray(weights).reshape(-1)), *bias


def held(numbers: FloatNumbers, values: Elements) -> Elements:
    """Numbers as the device holds them, in double precision; infinite where they are too large for it."""
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(numbers.dtype), np.float64)


def operands_of_layer(space: FloatSpace, record: LoweredLayer) -> FoldedWeights:
    """Weights, output channels first, and bias, with what follows the layer folded in."""
    graph, node = space.graph, record.node
    if layer_of(record).call.function is not Function.TRANSPOSE_CONV:
        operands = folded(graph, space.read, record)
    else:
        weights = np.asarray(space.stored.real(node.inputs[1])).swapaxes(0, 1)
        bias = space.stored.real(node.inputs[2]) if node.has(2) else np.zeros(weights.shape[0])
        operands = with_epilogue(graph, space.read, record, FoldedWeights(weights, bias))
    if operands is None:
        raise Unsupported("its weights are computed; they have to be fixed in the file")
    return operands


def bias_spread(space: FloatSpace, record: LoweredLayer, bias: Elements) -> Elements:
    """Size of what was added up to each bias: the shift of a normalization may nearly cancel its mean."""
    shifts = [node.inputs[2] for node in (record.epilogue.absorbed if record.epilogue else ()) if _normalizes(node)]
    sizes: Elements = np.abs(bias)
    for name in shifts:
        sizes = sizes + np.abs(space.stored.real(name)).reshape(-1)
    return sizes


def _normalizes(node: Node) -> bool:
    return canonical(node) == "BatchNormalization"


def add_layer(
    space: FloatSpace, record: LoweredLayer, inputs: tuple[Value, ...], output: Value, given: CallConstants
) -> None:
    """The layer of a record, by the function of its call."""
    node, call = record.node, layer_of(record).call
    numbers = {"limits": limits_of(space, record), **given.numbers}
    form = str(call.function)
    step = Step(node.label, node.op_type, form, inputs, output, call, "", given.arrays, numbers)
    space.add(replace(step, operands=given.operands))


class CallConstants(NamedTuple):
    """What a call is given beside its activations."""

    numbers: Mapping[str, object] = {}
    """Numbers of the template's macro."""
    operands: FloatOperands | None = None
    """Its constants in double precision."""
    arrays: tuple[Array, ...] = ()
    """Its constants as the device holds them."""
