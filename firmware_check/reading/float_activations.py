"""Float layers of activations alone."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check.program import Array, FloatOperands, Value
from firmware_check.reading.float_numbers import CallConstants, add_layer, held
from firmware_check.reading.float_space import FloatSpace
from firmware_check.reading.float_weighted import build_convolution, build_dense
from firmware_check.reading.state import Workspace
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.lower.memory_order import channels_last, reshaped
from onnxlint_cmsis.lower.pads import pad_amounts
from onnxlint_cmsis.lower.softmax import softmax_axes

if TYPE_CHECKING:
    from firmware_check.reading.builders import Build
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def build_pool(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Average and max pooling, global or with a window."""
    assert isinstance(space, FloatSpace)
    source = space.known(record.node.inputs[0])
    order = channels_last(len(source.shape))
    source = space.ordered(record.node, source, order)
    add_layer(space, record, (source,), space.like(record, order), CallConstants())


def build_elementwise(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Addition or product of two activations of one shape."""
    assert isinstance(space, FloatSpace)
    node = record.node
    values = [space.plain(node, space.known(name)) for name in node.inputs[:2]]
    if values[0].shape != values[1].shape:
        raise Unsupported(f"its operands have shapes {values[0].shape} and {values[1].shape}")
    first, second = values[0], space.ordered(node, values[1], values[0].order)
    add_layer(space, record, (first, second), space.like(record, first.order), CallConstants())


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
    given = CallConstants({"constant": next(iter(fixed), None)}, operands, tuple(arrays))
    add_layer(space, record, tuple(values), space.like(record, order), given)


def build_softmax(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Softmax over rows: its axes are brought behind all others in memory."""
    assert isinstance(space, FloatSpace)
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    axes = softmax_axes(node, len(source.shape))
    order = (*(other for other in range(len(source.shape)) if other not in axes), *axes)
    source = space.ordered(node, source, order)
    row = prod(source.shape[axis] for axis in axes)
    given = CallConstants({"rows": source.count // row, "row": row})
    add_layer(space, record, (source,), space.like(record, order), given)


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
    add_layer(space, record, tuple(values), output, CallConstants(numbers))


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
    add_layer(space, record, (source,), space.like(record, source.order), CallConstants(numbers))


def build_transpose(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """Transpose of up to four axes as they stand in the file."""
    assert isinstance(space, FloatSpace)
    node = record.node
    value = space.known(node.inputs[0])
    plain = tuple(range(len(value.shape)))
    source, output = space.ordered(node, value, plain), space.like(record, plain)
    ones = (1,) * (4 - len(plain))
    given = CallConstants({"size": (*source.shape, *ones), "result": (*output.shape, *ones)})
    add_layer(space, record, (source,), output, given)


def build_activation(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """A function of each element."""
    assert isinstance(space, FloatSpace)
    source = space.plain(record.node, space.known(record.node.inputs[0]))
    slope = record.node.attributes.get("alpha", 0.01)
    number = float(slope) if isinstance(slope, (int, float)) and np.isfinite(slope) else 0.01
    add_layer(space, record, (source,), space.like(record, source.order), CallConstants({"slope": number}))


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
    add_layer(space, record, (source,), space.like(record, order), CallConstants({}, operands, arrays))


def build_product(space: Workspace, record: LoweredLayer, _reason: str) -> None:
    """A product of two activations; both lie in memory as their shapes say."""
    assert isinstance(space, FloatSpace)
    node = record.node
    values = [space.known(name) for name in node.inputs[:2]]
    values = [space.ordered(node, value, tuple(range(len(value.shape)))) for value in values]
    shape = space.shape(node.outputs[0])
    add_layer(space, record, tuple(values), space.like(record, tuple(range(len(shape)))), CallConstants())


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
