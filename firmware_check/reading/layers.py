"""Layers of an ONNX model as kernel calls with their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from firmware_check import reference
from firmware_check.program import (
    ADD_LEFT_SHIFT,
    Array,
    Elements,
    Step,
    Value,
    add_constants,
    packed,
    softmax_constants,
)
from firmware_check.reading.forms import CODES, Unsupported
from firmware_check.reading.stored_numbers import LayerResult, copy_step, like, on_device, result_of
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Dims, Function
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.dims import is_image
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.memory_order import Places, channels_last, reshaped, strides_of
from onnxlint_cmsis.lower.pads import pad_amounts
from onnxlint_cmsis.lower.pooling import pooling_call
from onnxlint_cmsis.lower.softmax import softmax_axes
from onnxlint_cmsis.lower.stored_types import STORED
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.resizing import EXPAND
from onnxlint_cmsis.operators.slicing import SLICE

if TYPE_CHECKING:
    from firmware_check.program import Quantization
    from firmware_check.reading.stored_numbers import IntegerWeights, Workspace
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


# Layers that only copy elements: a slice, nearest-neighbour enlargement, an operand made larger.


def expanded(space: Workspace, node: Node, value: Value, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
    """The value repeated along its axes of size 1, and along new ones in front, up to a shape, in a memory order."""
    missing = len(shape) - len(value.shape)
    strides = {axis + missing: stride for axis, stride in strides_of(value).items() if value.shape[axis] != 1}
    output = space.new(value.tensor, shape, order, value.quantization)
    places = [(shape[axis], strides.get(axis, 0)) for axis in order]
    reason = "CMSIS-NN's element-wise functions take operands of one shape"
    space.steps.append(copy_step((f"{node.label}:expand", EXPAND.name, reason), value, output, places))
    return replace(output, real=value.real)


def build_copy(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Slice, Resize and Upsample: output of the scale and range of what is copied."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    places, offset = _slice(space, node, source) if operator_of(node) is SLICE else (_repeated(space, node, source), 0)
    result = result_of(space, record)
    output = space.new(result.tensor, space.shape(node.outputs[0]), source.order, source.quantization)
    space.keep(copy_step((node.label, node.op_type, reason), source, output, places, offset))


def _slice(space: Workspace, node: Node, source: Value) -> tuple[Places, int]:
    """The loops of a Slice and its first element."""
    strides = strides_of(source)
    ranges = _ranges(space, node, source.shape)
    places = [(len(ranges[axis]), strides[axis] * ranges[axis].step) for axis in source.order]
    return places, sum(ranges[axis].start * strides[axis] for axis in source.order if len(ranges[axis]))


def _repeated(space: Workspace, node: Node, source: Value) -> Places:
    """The loops that repeat each element a whole number of times."""
    shape = space.shape(node.outputs[0])
    strides = strides_of(source)
    places: Places = []
    for axis in source.order:
        times = shape[axis] // source.shape[axis]
        places += [(source.shape[axis], strides[axis]), *([(times, 0)] if times > 1 else [])]
    return places


def _ranges(space: Workspace, node: Node, shape: tuple[int, ...]) -> list[range]:
    """The indices that a Slice takes of each axis."""
    lists = [
        node.ints(name) or _ints(space, node, position) for position, name in enumerate(("starts", "ends"), start=1)
    ]
    axes = node.ints("axes") or _ints(space, node, 3) or tuple(range(len(lists[0])))
    steps = _ints(space, node, 4) or (1,) * len(lists[0])
    ranges = [range(size) for size in shape]
    for start, end, axis, step in zip(*lists, axes, steps, strict=True):
        ranges[axis] = range(*slice(start, end, step).indices(shape[axis]))
    return ranges


def _ints(space: Workspace, node: Node, position: int) -> tuple[int, ...]:
    if not node.has(position):
        return ()
    return tuple(int(number) for number in space.stored.array(node.inputs[position]).reshape(-1))


# Sums, products and extremes of two activations, or of one and a constant.


def build_elementwise(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Addition or product of two operands."""
    node = record.node
    first, second, arrays = _operands(space, node)
    result = result_of(space, record)
    scales = first.quantization.scale, second.quantization.scale, result.quantization.scale
    left_shift = ADD_LEFT_SHIFT[first.quantization.bits]
    numbers: dict[str, object] = {
        "limits": result.limits,
        "offsets": (-first.quantization.zero_point, -second.quantization.zero_point),
        "scales": (scales[0] / scales[2], scales[1] / scales[2]),
        "constants": add_constants(*scales, left_shift=left_shift),
        "left_shift": left_shift,
        "output": quantize_multiplier(scales[0] * scales[1] / scales[2]),
    }
    inputs = (first,) if arrays else (first, second)
    form = CODES[record.code or (record.call.function if record.call else "")]
    step = Step(
        node.label, node.op_type, form, inputs, like(space, node, result, first), record.call, "", arrays, numbers,
        reason, True,
    )  # fmt: skip
    space.add(step)


def build_extreme(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Maximum or minimum of two operands: the function repeats them along axes of size 1, so each keeps its shape."""
    node, call = record.node, record.call
    shape = space.shape(node.outputs[0])
    if call is None or len(shape) > len(call.output_dims):
        raise Unsupported(f"it has {len(shape)} axes; up to {len(Dims._fields)} are supported")
    plain = is_image(space.graph, node.outputs[0]) is False
    order = tuple(range(len(shape))) if plain else channels_last(len(shape))
    fixed = [position for position, name in enumerate(node.inputs) if space.stored.fixed(name)]
    values, arrays = [], []
    for position, name in enumerate(node.inputs):
        own = space.shape(name)
        whole = (*(1,) * (len(shape) - len(own)), *own)
        if position in fixed:
            template = Value(name, -1, whole, order, on_device(of_input(space.graph, node, position)))
            stored = space.stored.array(space.graph.producers[name].inputs[0]).reshape(whole)
            laid_out = template.to_memory(template.held(stored))
            arrays.append(Array("operand", "int8_t", np.ascontiguousarray(laid_out)))
        else:
            values.append(space.ordered(node, reshaped(space.plain(node, space.known(name)), whole), order))
    if not values:
        raise Unsupported("both of its operands are constant")
    result = result_of(space, record)
    output = like(space, node, result, replace(values[0], shape=shape, order=order, folded_from=None))
    numbers = {"limits": result.limits, "constant": next(iter(fixed), None)}
    step = Step(
        node.label, node.op_type, call.function, tuple(values), output, call, "", tuple(arrays), numbers, reason
    )  # fmt: skip
    space.add(step)


def _operands(space: Workspace, node: Node) -> tuple[Value, Value, tuple[Array, ...]]:
    """Both operands in one memory order; a constant one as an array of the output's size."""
    fixed = [position for position, name in enumerate(node.inputs) if space.stored.fixed(name)]
    if fixed:
        return _with_constant(space, node, fixed[0])
    first, second = (space.plain(node, space.known(name)) for name in node.inputs)
    shape = space.shape(node.outputs[0])
    order = next((value.order for value in (first, second) if value.shape == shape), tuple(range(len(shape))))
    first, second = (
        space.ordered(node, value, order) if value.shape == shape else expanded(space, node, value, shape, order)
        for value in (first, second)
    )
    return first, second, ()


def _with_constant(space: Workspace, node: Node, position: int) -> tuple[Value, Value, tuple[Array, ...]]:
    """An operand that the file fixes, quantized as the file quantizes it, laid out like the other."""
    value = space.plain(node, space.known(node.inputs[1 - position]))
    constant = node.inputs[position]
    integers = space.stored.array(space.graph.producers[constant].inputs[0])
    other = space.constant(constant, value, on_device(of_input(space.graph, node, position)))
    laid_out = other.to_memory(other.held(np.broadcast_to(integers, value.shape)))
    return value, other, (Array("operand", "int8_t", np.ascontiguousarray(laid_out)),)


# Functions of one int8 activation as a table of 256 integers, exact for any function.


Curve = Callable[[Elements, "Node"], Elements]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _number(node: Node, name: str, missing: float) -> float:
    value = node.attributes.get(name, missing)
    return float(value) if isinstance(value, (int, float)) else missing


def _hard_sigmoid(x: Elements, node: Node) -> Elements:
    return np.asarray(np.clip(_number(node, "alpha", 0.2) * x + _number(node, "beta", 0.5), 0, 1))


def _leaky_relu(x: Elements, node: Node) -> Elements:
    return np.where(x < 0, _number(node, "alpha", 0.01) * x, x)


def _elu(x: Elements, node: Node) -> Elements:
    return np.where(x < 0, _number(node, "alpha", 1.0) * np.expm1(x), x)


def _gelu(x: Elements, node: Node) -> Elements:
    by_tanh = node.text("approximate", "none") == "tanh"
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if by_tanh else _erf(x / math.sqrt(2))
    return np.asarray(x * (1 + bend) / 2)


CURVES: dict[tuple[str, str], Curve] = {
    ("", "Sigmoid"): lambda x, _: 1 / (1 + np.exp(-x)),
    ("", "Tanh"): lambda x, _: np.tanh(x),
    ("", "HardSigmoid"): _hard_sigmoid,
    ("", "HardSwish"): lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1),
    ("", "LeakyRelu"): _leaky_relu,
    ("", "Elu"): _elu,
    ("", "Exp"): lambda x, _: np.exp(x),
    ("", "Softplus"): lambda x, _: np.logaddexp(0, x),
    ("", "Gelu"): _gelu,
    ("com.microsoft", "Gelu"): _gelu,
}
"""Operator to its function of real numbers."""

ARITHMETIC: dict[tuple[str, str], Callable[[Elements, Elements], Elements]] = {
    ("", "Add"): np.add,
    ("", "Sum"): np.add,
    ("", "Sub"): np.subtract,
    ("", "Mul"): np.multiply,
    ("", "Div"): np.divide,
}
"""Operators that are a function of one activation where their other operand is one constant."""


def build_lookup(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """A function of one activation: a curve, or an operator with one constant, on either side."""
    node = record.node
    curve = CURVES.get((node.domain, node.op_type))
    position, function = (0, lambda real: curve(real, node)) if curve else _arithmetic(space, node)
    source, result = space.known(node.inputs[position]), result_of(space, record)
    shape = space.shape(node.outputs[0])
    if shape != source.shape:
        raise Unsupported(f"its constant makes {shape} of {source.shape}")
    output = space.beside(source, result.tensor, result.quantization)
    table = Array("table", "int8_t", table_of(function, source.quantization, result))
    space.add(
        Step(
            node.label, node.op_type, "lookup", (source,), output, None, "", (table,), reason=reason, in_place=True
        )
    )  # fmt: skip


def _arithmetic(space: Workspace, node: Node) -> tuple[int, Callable[[Elements], Elements]]:
    """Position of the activation, and the function of it."""
    constant = next(position for position, name in enumerate(node.inputs) if space.stored.fixed(name))
    number = space.stored.real(node.inputs[constant]).reshape(-1)[0]
    operator = ARITHMETIC[node.domain, node.op_type]
    return 1 - constant, lambda real: operator(real, number) if constant else operator(number, real)


def table_of(function: Callable[[Elements], Elements], source: Quantization, result: LayerResult) -> Elements:
    """Output integers for the input's: 0 to 127, then -128 to -1, as an unsigned byte counts them."""
    integers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    q = result.quantization
    with np.errstate(all="ignore"):
        real = function((integers - source.zero_point) * source.scale)
        steps = np.rint(real / q.scale) + q.zero_point
    if np.isnan(steps).any():
        raise Unsupported("it gives no number for some of its inputs")
    return np.asarray(np.clip(steps, *result.limits), np.int8)


# Pooling, softmax, concatenation, padding, changes of scale.


def build_pool(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Average and max pooling, global or with a window."""
    node = record.node
    call = pooling_call(space.graph, node, Assumptions())
    if isinstance(call, Decision):
        raise Unsupported(call.reason)
    source = space.known(node.inputs[0])
    source = space.ordered(node, source, channels_last(len(source.shape)))
    result = result_of(space, record)
    rescale = quantize_multiplier(source.quantization.scale / result.quantization.scale)
    whole = record.cause is Cause.ATTRIBUTE
    step = Step(
        node.label, node.op_type, CODES[call.function], (source,), like(space, node, result), call, "", (),
        {"limits": result.limits, "rescale": rescale, "whole": whole}, reason,
    )  # fmt: skip
    space.add(step)


def build_softmax(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Softmax over rows: its axes are brought behind all others in memory."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    axes = softmax_axes(node, len(source.shape))
    order = (*(other for other in range(len(source.shape)) if other not in axes), *axes)
    source = space.ordered(node, source, order)
    result = result_of(space, record)
    row = prod(source.shape[axis] for axis in axes)
    constants, tables = _softmax(source.quantization)
    numbers = {"limits": result.limits, "rows": source.count // row, "row": row, "constants": constants}
    step = Step(
        node.label, node.op_type, "softmax", (source,), like(space, node, result, source), record.call, "", tables,
        numbers, reason,
    )  # fmt: skip
    space.add(step)


def _softmax(source: Quantization) -> tuple[object, tuple[Array, ...]]:
    """What the softmax of an input needs to know of its scale, and the tables of int16."""
    if source.bits == 8:
        return softmax_constants(source.scale), ()
    tables = {"exponentials": reference.exponentials(), "reciprocals": reference.reciprocals()}
    return reference.multiplier(source.scale), tuple(Array(name, "int16_t", table) for name, table in tables.items())


def build_concat(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Concatenation: one copying call for each input."""
    node = record.node
    values = [space.plain(node, space.known(name)) for name in node.inputs]
    result = result_of(space, record)
    order = values[0].order
    values = [space.ordered(node, value, order) for value in values]
    output = like(space, node, result, values[0])
    axis = node.int("axis") % len(output.shape)
    rank = order.index(axis)
    numbers = {
        "limits": result.limits, "outer": prod(output.shape[size_axis] for size_axis in order[:rank]),
        "rows": [value.shape[axis] for value in values],
        "inner": prod(output.shape[size_axis] for size_axis in order[rank + 1 :]), "total": output.shape[axis],
        "rescales": [quantize_multiplier(value.quantization.scale / result.quantization.scale) for value in values],
    }  # fmt: skip
    step = Step(node.label, node.op_type, "concat", tuple(values), output, record.call, "", (), numbers, reason)
    space.add(step)


def build_pad(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Constant padding that no layer behind it takes over; a change of scale becomes a separate layer."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    result = result_of(space, record)
    pads, rank = pad_amounts(space.graph, node), len(source.shape)
    output = like(space, node, result, source)
    missing = 4 - rank
    size, before, after = (
        [padding] * missing + [amounts[axis] for axis in source.order]
        for padding, amounts in ((1, source.shape), (0, pads[:rank]), (0, pads[rank:]))
    )
    fill = _fill(space, node, source.quantization)
    numbers = {"limits": result.limits, "size": size, "before": before, "after": after, "fill": fill}
    if record.cause is not Cause.UNEQUAL_SCALES:
        whole = Dims(*(sum(amounts) for amounts in zip(before, size, after, strict=True)))
        call = record.call and record.call._replace(input_dims=Dims(*size), output_dims=whole, pad_front=Dims(*before))
        space.add(Step(node.label, node.op_type, "pad", (source,), output, call, "", (), numbers, reason))
        return
    padded = space.new(node.outputs[0], output.shape, source.order, source.quantization)
    label = f"{node.label}:pad"
    space.add(Step(label, node.op_type, "pad", (source,), padded, None, "", (), numbers, reason))
    build_rescaled(space, node, padded, record, reason)


def _fill(space: Workspace, node: Node, quantization: Quantization) -> int:
    """The integer that the device pads with; between integers the file gives that itself, 128 more where unsigned."""
    number = float(space.stored.real(node.inputs[2]).reshape(-1)[0]) if node.inputs[2] else 0.0
    if space.graph.elem_type(node.inputs[0]) in STORED:
        return int(number) - (128 if quantization.unsigned else 0)
    return quantization.integer(number)


def build_requantize(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Relu or Clip between quantized tensors, or QuantizeLinear: a change of scale, perhaps with bounds."""
    build_rescaled(space, record.node, space.known(record.node.inputs[0]), record, reason)


def build_moved(space: Workspace, record: LoweredLayer) -> None:
    """The QuantizeLinear that ends a Transpose: the same memory, but for another scale or bounds."""
    moved, result = space.known(record.node.outputs[0]), result_of(space, record)
    same = moved.quantization
    if (result.quantization, result.limits) != (same, (same.lowest, same.highest)):
        build_rescaled(space, record.node, moved, record, record.reason)
    else:
        space.integers[result.tensor] = replace(moved, tensor=result.tensor, real=False)


def build_rescaled(space: Workspace, node: Node, source: Value, record: LoweredLayer, reason: str) -> None:
    """A layer that changes scale and zero-point of a value, and clamps."""
    result = result_of(space, record)
    output = space.beside(source, result.tensor, result.quantization)
    rescale = quantize_multiplier(source.quantization.scale / result.quantization.scale)
    numbers = {"limits": result.limits, "rescale": rescale}
    space.add(
        Step(
            node.label, node.op_type, "requantize", (source,), output, numbers=numbers, reason=reason, in_place=True
        )
    )  # fmt: skip


# Convolutions, transposed convolutions and fully connected layers: weights, biases, multipliers.


BIAS = {8: ("int32_t", 32), 16: ("int64_t", 48)}
"""Bits of the activations to the C type of a bias and the bits that TensorFlow Lite rescales it in."""


def build_convolution(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Conv: OHWI weights, or 1HWO where it is depthwise."""
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    weights = space.stored.weights(node.inputs[1])
    result = result_of(space, record)
    depthwise = layer.call.function is Function.DEPTHWISE
    integers = two_dimensional(weights.integers)
    laid_out = integers.transpose(2, 3, 1, 0) if depthwise else integers.transpose(0, 2, 3, 1)
    scales = source.quantization.scale * weights.scales_of(weights.integers.shape[0])
    bias = _bias(space, layer, result, scales)
    arrays = _arrays(weights, laid_out, bias, scales, result)
    output = _output(space, node, result)
    form = "depthwise" if depthwise else "convolve"
    numbers = {"limits": result.limits}
    space.add(Step(node.label, node.op_type, form, (source,), output, layer.call, "", arrays, numbers, reason))


def build_transpose(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """ConvTranspose: weights [in_c, out_c, h, w] become OHWI."""
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    weights = space.stored.weights(node.inputs[1])
    result = result_of(space, record)
    laid_out = two_dimensional(weights.integers).transpose(1, 2, 3, 0)
    scales = source.quantization.scale * weights.scales_of(weights.integers.shape[1])
    bias = _bias(space, layer, result, scales)
    arrays = _arrays(weights, laid_out, bias, scales, result)
    output = _output(space, node, result)
    numbers = {"limits": result.limits}
    step = Step(
        node.label, node.op_type, "transpose_conv", (source,), output, layer.call, "", arrays, numbers, reason,
        scratch=4 * output.count,
    )  # fmt: skip
    space.add(step)


def build_dense(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Gemm and MatMul with a constant factor: weights [out_c, depth], columns in the order of the input's memory."""
    node, layer = record.node, layer_of(record)
    source = space.known(node.inputs[0])
    weights = space.stored.weights(node.inputs[1])
    integers = weights.integers if node.int("transB") else weights.integers.T
    out_c, depth = integers.shape
    result = result_of(space, record)
    laid_out = reordered_columns(source, integers)
    if laid_out is None:
        source = space.ordered(node, source, tuple(range(len(source.shape))))
        laid_out = integers
    scales = source.quantization.scale * weights.scales_of(out_c) * _factor(node, "alpha")
    bias = _bias(space, layer, result, scales)
    several = weights.scales.size > 1
    arrays = _arrays(weights, laid_out, bias, scales if several else scales[:1], result)
    output = _output(space, node, result, (*source.shape[:-1], out_c))
    numbers = {
        "limits": result.limits, "filter_offset": -weights.zero_point, "per_channel": several, "depth": depth,
    }  # fmt: skip
    space.add(
        Step(node.label, node.op_type, "fully_connected", (source,), output, layer.call, "", arrays, numbers, reason)
    )


def reordered_columns(source: Value, weights: Elements) -> Elements | None:
    """Weights [out_c, depth] with their columns in the order in which the input's rows lie in memory.

    None where the rows do not lie one after the other in memory.
    """
    depth = weights.shape[1]
    places = np.argsort(source.to_memory(np.arange(source.count))).reshape(-1, depth)
    first = places[0]
    if any((row != first + depth * number).any() for number, row in enumerate(places)):
        return None
    laid_out = np.empty_like(weights)
    laid_out[:, first] = weights
    return laid_out


def _factor(node: Node, name: str) -> float:
    """Factor of a Gemm: `alpha` goes into the scale of the weights, `beta` into the bias."""
    value = node.attributes.get(name, 1.0)
    return float(value) if isinstance(value, (int, float)) else 1.0


def layer_of(record: LoweredLayer) -> Layer:
    """The layer of a record; Unsupported with the record's reason where it is none."""
    if record.layer is None:
        raise Unsupported(record.reason)
    return record.layer


def source_of(space: Workspace, node: Node, layer: Layer) -> Value:
    """The activation in channels-last order, from in front of Pad nodes that the call includes."""
    name = node.inputs[0]
    for _ in layer.folded:
        before = space.graph.producers[name]
        if operator_of(before).dequantizes:
            before = space.graph.producers[space.graph.producers[before.inputs[0]].inputs[0]]
        name = before.inputs[0]
    value = space.known(name)
    return space.ordered(node, value, channels_last(len(value.shape)))


def two_dimensional(integers: Elements) -> Elements:
    """Weights of a convolution along a line, as those of an image of one row."""
    return integers[:, :, None, :] if integers.ndim == 3 else integers


def _output(space: Workspace, node: Node, result: LayerResult, shape: tuple[int, ...] | None = None) -> Value:
    shape = space.shape(node.outputs[0]) if shape is None else shape
    product = operator_of(node).roles.form in (Form.GEMM, Form.MATMUL)
    order = tuple(range(len(shape))) if product else channels_last(len(shape))
    output = space.new(result.tensor, shape, order, result.quantization)
    final = space.graph.shape(result.tensor)
    return output if final in (None, shape) else reshaped(output, space.shape(result.tensor))


def _arrays(
    weights: IntegerWeights, laid_out: Elements, bias: Elements | None, scales: Elements, result: LayerResult
) -> tuple[Array, ...]:
    """Weights, bias where there is one, and a multiplier and shift for each scale."""
    flat = np.ascontiguousarray(laid_out).reshape(-1)
    multipliers = [quantize_multiplier(scale / result.quantization.scale) for scale in scales]
    return (
        Array("weights", "int8_t", packed(flat) if weights.narrow else flat),
        *(() if bias is None else (_bias_array(bias, result.quantization.bits),)),
        Array("multipliers", "int32_t", np.array([multiplier.value for multiplier in multipliers])),
        Array("shifts", "int32_t", np.array([multiplier.shift for multiplier in multipliers])),
    )


def _bias_array(bias: Elements, bits: int) -> Array:
    """A bias in the type that goes with the activations, no larger than TensorFlow Lite rescales it."""
    if not np.isfinite(bias).all():
        raise Unsupported("its bias is infinite or no number")
    c_type, most = BIAS[bits]
    clipped = np.clip(bias, -(1 << (most - 1)), (1 << (most - 1)) - 1)
    return Array("bias", c_type, clipped.astype(np.int64))


def _bias(space: Workspace, layer: Layer, result: LayerResult, scales: Elements) -> Elements | None:
    """Whole bias in units of input scale times weight scale: the bias input and what is added behind; None for none."""
    node = layer.node
    if not layer.call.bias:
        return None
    total = np.zeros(scales.size)
    position = operator_of(node).roles.bias
    if node.has(position):
        total = total + space.stored.real(node.inputs[position]).reshape(-1) * _factor(node, "beta")
    if result.added is not None:
        total = total + result.added.reshape(-1)
    return np.rint(total / scales)
