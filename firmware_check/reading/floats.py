"""Float models as calls of the functions for f32 and f16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import onnx

from firmware_check.program import FLOAT_NUMBERS, Array, Elements, FloatNumbers, FloatOperands, Program, Step, Value
from firmware_check.reading.forms import Unsupported
from firmware_check.reading.layers import layer_of, reordered_columns, source_of, two_dimensional
from firmware_check.reading.read import Walk, best_program
from firmware_check.reading.stored_numbers import StoredNumbers, Workspace, clip_limits
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.epilogue import CLAMPS, REALS
from onnxlint_cmsis.lower.folded_weights import FoldedWeights, folded, with_epilogue
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.memory_order import channels_last, reshaped
from onnxlint_cmsis.lower.pads import pad_amounts
from onnxlint_cmsis.lower.softmax import softmax_axes

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.reading.read import Build
    from onnxlint_cmsis.ground.types import FloatCall, KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


# The walk over a float model. What no layer makes, the host gives: the model's inputs, and results of other nodes.


def read_float_program(path: str, graph: Graph, library: Library, assume: str, given: FloatCall) -> Program:
    """The layers of a float model that functions for `assume` (`f32`, `f16`) compute; `given` is what calls get.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    stored, lowered = StoredNumbers(onnx.load(path), graph), lower(graph, assume, floating=given)
    spaces = [FloatSpace(graph, stored, library, last, FLOAT_NUMBERS[assume]) for last in (True, False)]
    return best_program(FloatWalk(space, lowered).program() for space in spaces)


class FloatSpace(Workspace):
    """Values known so far and layers made so far, all of one type."""

    def __init__(
        self, graph: Graph, stored: StoredNumbers, library: Library, inputs_channels_last: bool, numbers: FloatNumbers
    ) -> None:
        super().__init__(graph, stored, library, inputs_channels_last)
        self.numbers = numbers

    def known(self, name: str) -> Value:
        """The value that a tensor is; the host gives it where no layer made it."""
        if name not in self.integers and name not in self.reals:
            if self.stored.fixed(name):
                raise Unsupported(f"its operand '{name}' is constant")
            self.reals[name] = self.host_value(name, self.numbers)
        return super().known(name)

    def read(self, name: str) -> Elements | None:
        """Numbers of a constant; None where the file does not fix them."""
        return self.stored.array(name) if self.stored.fixed(name) else None

    def result(self, record: LoweredLayer, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
        """What a layer writes: so many elements in a memory order, reshaped where its tensor has another shape."""
        tensor = record.epilogue.tensor if record.epilogue else record.node.outputs[0]
        output, final = self.new(tensor, shape, order, self.numbers), self.shape(tensor)
        return output if final == shape else reshaped(output, final)

    def like(self, record: LoweredLayer, order: tuple[int, ...]) -> Value:
        """What a layer writes in the shape of its node's output."""
        return self.result(record, self.shape(record.node.outputs[0]), order)


class FloatWalk(Walk):
    """One walk over the nodes of a float model."""

    @property
    def builds(self) -> Mapping[str, Build]:  # type: ignore[override]
        """What builds a layer, by the stem of its entry point or its kind of reference code."""
        return FLOAT_BUILDS

    def moves(self, node: Node, record: LoweredLayer | None) -> bool:
        """Whether a node is another way to read memory; a Transpose that is a call is a layer."""
        name, space = node.inputs[0], self._space
        if record is not None or space.stored.fixed(name) or space.graph.elem_type(name) not in REALS:
            return False
        space.known(name)
        return True


# Numbers of calls: clamps, weights in the order of the function, and what they are in double precision.


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


def _operands(space: FloatSpace, record: LoweredLayer) -> FoldedWeights:
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


def _spread(space: FloatSpace, record: LoweredLayer, bias: Elements) -> Elements:
    """Size of what was added up to each bias: the shift of a normalization may nearly cancel its mean."""
    shifts = [node.inputs[2] for node in (record.epilogue.absorbed if record.epilogue else ()) if _normalizes(node)]
    sizes: Elements = np.abs(bias)
    for name in shifts:
        sizes = sizes + np.abs(space.stored.real(name)).reshape(-1)
    return sizes


def _normalizes(node: Node) -> bool:
    return canonical(node) == "BatchNormalization"


def _add(space: FloatSpace, record: LoweredLayer, inputs: tuple[Value, ...], output: Value, given: _Given) -> None:
    """The layer of a record, by the function of its call."""
    node, call = record.node, layer_of(record).call
    numbers = {"limits": limits_of(space, record), **given.numbers}
    form = str(call.function)
    step = Step(node.label, node.op_type, form, inputs, output, call, "", given.arrays, numbers)
    space.add(replace(step, operands=given.operands))


class _Given(NamedTuple):
    """What a call is given beside its activations."""

    numbers: Mapping[str, object] = {}
    """Numbers of the template's macro."""
    operands: FloatOperands | None = None
    """Its constants in double precision."""
    arrays: tuple[Array, ...] = ()
    """Its constants as the device holds them."""


# Layers with weights.


def _weighted(space: FloatSpace, record: LoweredLayer, weights: Elements, bias: Elements) -> _Given:
    """What a layer is given whose weights are in the function's order."""
    call, numbers = layer_of(record).call, space.numbers
    given = held(numbers, bias) if call.bias else None
    operands = FloatOperands(held(numbers, weights), given, _spread(space, record, bias))
    return _Given(operands=operands, arrays=weight_arrays(call, numbers, operands))


def build_convolution(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Conv: OHWI weights, or 1HWO where it is depthwise; ConvTranspose: OHWI."""
    assert isinstance(space, FloatSpace)
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    operands = _operands(space, record)
    weights = two_dimensional(operands.weights)
    depthwise = layer.call.function is Function.DEPTHWISE
    laid_out = weights.transpose(1, 2, 3, 0) if depthwise else weights.transpose(0, 2, 3, 1)
    shape = space.shape(node.outputs[0])
    output = space.result(record, shape, channels_last(len(shape)))
    _add(space, record, (source,), output, _weighted(space, record, laid_out, operands.bias))


def build_dense(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Gemm and MatMul with a constant factor: weights [out_c, depth], columns in the order of the input's memory."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source, operands = space.known(node.inputs[0]), _operands(space, record)
    laid_out = reordered_columns(source, operands.weights)
    if laid_out is None:
        source = space.ordered(node, source, tuple(range(len(source.shape))))
        laid_out = operands.weights
    shape = (*source.shape[:-1], laid_out.shape[0])
    output = space.result(record, shape, tuple(range(len(shape))))
    _add(space, record, (source,), output, _weighted(space, record, laid_out, operands.bias))


# Layers of activations alone.


def build_pool(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Average and max pooling, global or with a window."""
    assert isinstance(space, FloatSpace)
    source = space.known(record.node.inputs[0])
    order = channels_last(len(source.shape))
    source = space.ordered(record.node, source, order)
    _add(space, record, (source,), space.like(record, order), _Given())


def build_elementwise(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Addition or product of two activations of one shape."""
    assert isinstance(space, FloatSpace)
    node = record.node
    values = [space.plain(node, space.known(name)) for name in node.inputs[:2]]
    if values[0].shape != values[1].shape:
        raise Unsupported(f"its operands have shapes {values[0].shape} and {values[1].shape}")
    first, second = values[0], space.ordered(node, values[1], values[0].order)
    _add(space, record, (first, second), space.like(record, first.order), _Given())


def build_extreme(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Maximum or minimum of two operands, one perhaps constant, each in its shape: the function repeats them."""
    assert isinstance(space, FloatSpace)
    node, shape = record.node, space.shape(record.node.outputs[0])
    order = channels_last(len(shape)) if len(shape) > 2 else tuple(range(len(shape)))
    fixed = [position for position, name in enumerate(node.inputs[:2]) if space.stored.fixed(name)]
    if len(fixed) > 1 or len(shape) > 4:
        raise Unsupported("both of its operands are constant" if len(fixed) > 1 else f"it has {len(shape)} axes")
    values, arrays, operands = [], [], None
    for position, name in enumerate(node.inputs[:2]):
        own = space.shape(name)
        whole = (*(1,) * (len(shape) - len(own)), *own)
        if position in fixed:
            template = Value(name, -1, whole, order, space.numbers)
            constant = held(space.numbers, template.to_memory(space.stored.real(name).reshape(whole)))
            operands = FloatOperands(constant)
            arrays.append(Array("operand", space.numbers.c_type, constant))
        else:
            values.append(space.ordered(node, reshaped(space.plain(node, space.known(name)), whole), order))
    given = _Given({"constant": next(iter(fixed), None)}, operands, tuple(arrays))
    _add(space, record, tuple(values), space.like(record, order), given)


def build_softmax(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Softmax over rows: its axes are brought behind all others in memory."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    axes = softmax_axes(node, len(source.shape))
    order = (*(other for other in range(len(source.shape)) if other not in axes), *axes)
    source = space.ordered(node, source, order)
    row = prod(source.shape[axis] for axis in axes)
    given = _Given({"rows": source.count // row, "row": row})
    _add(space, record, (source,), space.like(record, order), given)


def build_concat(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Concatenation: one copying call for each input."""
    assert isinstance(space, FloatSpace)
    node = record.node
    values = [space.plain(node, space.known(name)) for name in node.inputs]
    order = values[0].order
    values = [space.ordered(node, value, order) for value in values]
    output = space.like(record, order)
    axis = node.int("axis") % len(output.shape)
    rank = order.index(axis)
    numbers = {
        "outer": prod(output.shape[size_axis] for size_axis in order[:rank]),
        "rows": [value.shape[axis] for value in values],
        "inner": prod(output.shape[size_axis] for size_axis in order[rank + 1 :]),
        "total": output.shape[axis],
    }
    _add(space, record, tuple(values), output, _Given(numbers))


def build_pad(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Constant padding that no layer behind it takes over."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    pads, rank = pad_amounts(space.graph, node), len(source.shape)
    fill = float(space.stored.real(node.inputs[2]).reshape(-1)[0]) if node.has(2) else 0.0
    if not np.isfinite(held(space.numbers, np.array(fill))):
        raise Unsupported("it fills with a number that is infinite or none")
    ones, zeros = [1] * (4 - rank), [0] * (4 - rank)
    numbers = {
        "size": ones + [source.shape[axis] for axis in source.order],
        "before": zeros + [pads[axis] for axis in source.order],
        "after": zeros + [pads[axis + rank] for axis in source.order],
        "fill": fill,
    }
    _add(space, record, (source,), space.like(record, source.order), _Given(numbers))


def build_transpose(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Transpose of up to four axes as they stand in the file."""
    assert isinstance(space, FloatSpace)
    node = record.node
    value = space.known(node.inputs[0])
    plain = tuple(range(len(value.shape)))
    source, output = space.ordered(node, value, plain), space.like(record, plain)
    ones = (1,) * (4 - len(plain))
    given = _Given({"size": (*source.shape, *ones), "result": (*output.shape, *ones)})
    _add(space, record, (source,), output, given)


def build_activation(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """A function of each element."""
    assert isinstance(space, FloatSpace)
    source = space.plain(record.node, space.known(record.node.inputs[0]))
    slope = record.node.attributes.get("alpha", 0.01)
    number = float(slope) if isinstance(slope, (int, float)) and np.isfinite(slope) else 0.01
    _add(space, record, (source,), space.like(record, source.order), _Given({"slope": number}))


def build_normalization(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """BatchNormalization behind no layer with weights: a factor and a shift for each channel."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source = space.known(node.inputs[0])
    order = channels_last(len(source.shape))
    source = space.ordered(node, source, order)
    scale, shift, mean, variance = (space.stored.real(name).reshape(-1) for name in node.inputs[1:5])
    epsilon = node.attributes.get("epsilon", 1e-5)
    factor = scale / np.sqrt(variance + cast(float, epsilon))
    numbers, offset = space.numbers, held(space.numbers, shift - mean * factor)
    operands = FloatOperands(held(numbers, factor), offset, np.abs(shift) + np.abs(mean * factor))
    arrays = Array("scale", numbers.c_type, operands.weights), Array("bias", numbers.c_type, offset)
    _add(space, record, (source,), space.like(record, order), _Given({}, operands, arrays))


def build_product(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """A product of two activations; both lie in memory as their shapes say."""
    assert isinstance(space, FloatSpace)
    node = record.node
    values = [space.known(name) for name in node.inputs[:2]]
    values = [space.ordered(node, value, tuple(range(len(value.shape)))) for value in values]
    shape = space.shape(node.outputs[0])
    _add(space, record, tuple(values), space.like(record, tuple(range(len(shape)))), _Given())


FLOAT_BUILDS: dict[str, Build] = {
    **dict.fromkeys(("convolve", "depthwise", "transpose_conv"), build_convolution),
    "fully_connected": build_dense,
    **dict.fromkeys(("avgpool", "max_pool"), build_pool),
    **dict.fromkeys(("elementwise_add", "elementwise_mul"), build_elementwise),
    **dict.fromkeys(("maximum", "minimum"), build_extreme),
    "softmax": build_softmax,
    "concatenation": build_concat,
    "pad": build_pad,
    "transpose": build_transpose,
    "activation": build_activation,
    "batch_norm": build_normalization,
    "batch_matmul": build_product,
}
"""Stem of an entry point for f32 and f16 to what builds it."""
