"""What each described operator makes of what its operands hold.

Each function keeps "one number, one value" if its operands have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.certificate.operands import Operands
from onnxlint_cmsis.analysis.certificate.rounding import DIVIDES_IN_FLOAT32
from onnxlint_cmsis.analysis.certificate.sums import biased, channels_second, convolution, dense
from onnxlint_cmsis.analysis.certificate.table import Key
from onnxlint_cmsis.analysis.certificate.values import Lanes, Value
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.formats.onnx.signatures import defaults, stated
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS, CURVES, PAIRS, axis_of
from onnxlint_cmsis.operators.integer_windows import Window, taps_of, window_of
from onnxlint_cmsis.operators.integers import BITS, OFFSETS, NotCoveredError
from onnxlint_cmsis.operators.moves import moved_input, passages
from onnxlint_cmsis.operators.scaled_numbers import Fixed, quantization

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.table import Array, Ids, Numbers


FLOAT32 = 1
"""Number of the type float32 in ONNX."""
BROADCASTING = 7
"""Operator set of ONNX from which Add, PRelu and their like broadcast as NumPy does, and Dropout drops nothing."""
LARGEST = float(np.finfo(np.float32).max)
"""Bound of a Clip that states none: it takes infinity to it."""


def dequantized(model: Operands, node: Node) -> Value:
    """DequantizeLinear, DEQUANTIZE: the same integers, with their scale; TensorFlow Lite computes on in float32."""
    if node.domain == TFLITE:
        value = model.operand(node, 0)
        return value._replace(single=True) if isinstance(value, Lanes) else value.in_float32
    if node.int("block_size"):
        raise NotCoveredError("it has scales for blocks")
    return model.scaled(node.inputs[0], model.numbers(node, 1), model.zeros(node, 2), node.int("axis", 1))


def quantized(model: Operands, node: Node) -> Value:
    """QuantizeLinear, QUANTIZE."""
    if node.domain == TFLITE:
        return model.finished(node, model.lanes(node, 0))
    if node.int("precision") not in (0, FLOAT32):
        raise NotCoveredError("it divides in another precision")
    value, scale, zero = model.operand(node, 0), model.numbers(node, 1), model.zeros(node, 2)
    axis = node.int("axis", 1)
    elem_type = model.graph.elem_type(node.outputs[0])
    if isinstance(value, Lanes):
        return model.settled(node, value, quantization(scale, zero, elem_type))
    blocks = node.int("block_size")
    if not blocks and value.array.dtype.name == elem_type and value.has_scale(scale, zero, axis):
        return Fixed(value.array)
    if blocks or value.scale is not None or value.array.dtype != np.float32 or elem_type not in BITS:
        raise NotCoveredError("it quantizes a constant that is computed")
    return value.quantized(scale, zero, axis, elem_type)


def pair(model: Operands, node: Node) -> Value:
    """Functions of two elements; what is added to a sum goes into its bias."""
    positions = [*operator_of(node).roles.data_of(node)]
    if len(positions) != 2 or (not node.domain and node.opset < BROADCASTING):
        raise NotCoveredError("it has other than two operands, or broadcasts along an axis that it names")
    key, values = (canonical(node), *said(node)), [model.operand(node, position) for position in positions]
    for value, other in zip(values, values[::-1], strict=True):
        if canonical(node) == "Add" and isinstance(value, Lanes) and isinstance(other, Fixed) and not value.integers:
            return model.finished(node, biased(model, value, other))
    left, right = (model.lanes(node, *told) for told in zip(positions, values, strict=True))
    return model.finished(node, model.paired(left, right, key))


def said(node: Node) -> tuple[Any, ...]:
    """Attributes that a function is told by; nothing for those that say nothing beside what is usual."""
    given = stated((node.domain, node.op_type), node.opset, node.attributes)
    kept = [(k, v) for k, v in given if k != "fused_activation_function"]
    return (repr(kept),) if kept else ()


def clamp(model: Operands, node: Node) -> Lanes:
    """Relu, Relu6, Clip."""
    if node.domain == TFLITE and node.op_type not in DIVIDES_IN_FLOAT32:
        model.copies(node, 0)
    bounds = ACTIVATIONS.get(canonical(node))
    if bounds is None:
        ends = [-LARGEST, LARGEST]
        for position, name in enumerate(("min", "max")):
            if node.has(position + 1):
                bound = model.operand(node, position + 1)
                if not isinstance(bound, Fixed) or bound.array.size != 1:
                    raise NotCoveredError("its bounds are computed")
                ends[position] = float(bound.real.item())
            elif isinstance(end := node.attributes.get(name), float):
                ends[position] = end
        bounds = ends[0], ends[1]
    return model.finished(node, model.clipped(model.lanes(node, 0), *bounds))


def curve(model: Operands, node: Node) -> Lanes:
    """A function of one element, of which nothing but its name and attributes is known."""
    if len([name for name in node.inputs if name]) != 1 and not model.triples(node):
        raise NotCoveredError("it has further operands")
    value = model.real(model.lanes(node, 0))
    own = defaults(node.domain, node.op_type, node.opset)
    usual = own.get("alpha", None if node.domain == TFLITE else defaults("", canonical(node), node.opset).get("alpha"))
    alpha = node.attributes.get("alpha", None if usual is None else float(usual))
    key = ("curve", canonical(node), alpha, *said(node))
    return model.finished(node, value._replace(ids=model.applied(key, value.ids)))


def pooling(model: Operands, node: Node) -> Lanes:
    """The largest element of a window, or the average of those inside the plane."""
    model.copies(node, 0)
    x, result_sizes, back = channels_second(model, model.lanes(node, 0), node)
    kernel = node.ints("kernel_shape") or (node.int("filter_height"), node.int("filter_width"))
    window = window_of(node, kernel, x.shape[2:], result_sizes)
    if node.int("storage_order") or len([name for name in node.outputs if name]) > 1:
        raise NotCoveredError("it gives places too")
    if not taps_of(window).covers:
        raise NotCoveredError("a window lies outside its plane")
    same = node.text("auto_pad")[:4] == "SAME"
    around = (node.int("ceil_mode"), *node.ints("pads"), same) if node.int("count_include_pad") else ()
    key = ("largest" if canonical(node) == "MaxPool" else "average", window, node.int("ceil_mode"), around)
    return model.finished(node, model.turned(pooled(model, x, key, result_sizes), back))


def pooled(model: Operands, x: Lanes, key: Key, result_sizes: tuple[int, ...]) -> Lanes:
    """A function of each lane's plane that keeps what is the same everywhere."""
    table = model.table
    if key[0] == "average" and (not x.integers or x.single):
        raise NotCoveredError("it averages real numbers, of which the order matters")
    by_line = model.apart and len(x.shape) > 3 and isinstance(key[1], Window) and not key[3]
    axes = model.across(len(x.shape)) if by_line else range(2, len(x.shape))
    x = model.over(model.real(x) if key[0] == "average" else x, axes)
    shape = (*x.shape[:2], *result_sizes)
    if by_line:
        rows, window = model.by_line(key[1])
        ids = row_pooled(table, x.ids.reshape(*x.shape[:2], -1), rows, (key[0], window, key[2]))
        ids = ids.reshape([1 if axis in axes else size for axis, size in enumerate(shape)])
    else:
        ids, others = x.ids.copy(), ~table.are(x.ids, "constant")
        ids[others] = table.applied(table.name(*key), ids[others])
    return x._replace(ids=ids, shape=shape, plane=tuple(axis for axis in axes if shape[axis] > 1))


def row_pooled(table: Numbers, lanes: Ids, rows: Array, key: Key) -> Ids:
    """The same of the rows inside the plane that each row of a window reads: [batch, channels, rows]."""
    ids = np.empty((*lanes.shape[:2], rows.shape[1]), np.int64)
    table.look((ids.size, len(rows)))
    for batch, channel, row in np.ndindex(ids.shape):
        inside = lanes[batch, channel, rows[rows[:, row] >= 0, row]]
        if (inside == inside[0]).all() and table.are(inside[:1], "constant"):
            ids[batch, channel, row] = inside[0]
            continue
        ends = table.low[inside].min(), table.high[inside].max()
        number = ids[batch, channel, row] = table.numbers(table.name("rows", *key, inside.tobytes()), 0, 0, *ends)
        table.unsettled[number] = table.unsettled[inside].any()
    return ids


def mean(model: Operands, node: Node) -> Lanes:
    """The average of whole planes: GlobalAveragePool, ReduceMean and MEAN over all axes but batch and channels."""
    x = model.lanes(node, 0)
    rank, axes = len(x.shape), [*range(2, len(x.shape))]
    if canonical(node) == "ReduceMean":
        given = node.ints("axes") or tuple(int(n) for n in model.numbers(node, 1).flat)
        axes = sorted(axis_of(axis, rank) for axis in given)
    order = [axis for axis in range(rank) if axis not in axes] + axes
    if len(axes) != rank - 2 or not axes or node.int("channels_last"):
        raise NotCoveredError("it takes other axes together than those of a plane")
    turned = model.turned(x, order)
    result = pooled(model, turned, ("average", "whole", turned.shape[2:], ()), (1,) * (rank - 2))
    kept = canonical(node) != "ReduceMean" or model.roles(node).number(node, "keepdims", 1)
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape) if kept or axis not in axes]
    return model.shaped(model.finished(node, result), sizes)


def joined(model: Operands, node: Node) -> Value:
    """Concatenation."""
    positions = [*operator_of(node).roles.data_of(node)]
    model.copies(node, *positions)
    parts = [model.lanes(node, position) for position in positions]
    if len({part[3:] for part in parts}) > 1 or model.triples(node):
        parts = [model.real(part) for part in parts]
    axis = axis_of(node.int("axis"), len(parts[0].shape))
    plane = sorted({n for part in parts for n in part.plane} - {axis})
    if any(axis in part.plane or part.plane != tuple(n for n in plane if part.shape[n] > 1) for part in parts):
        parts, plane = [model.spread(part) for part in parts], []
    model.table.look((sum(part.ids.size for part in parts),))
    ids = np.concatenate([part.ids for part in parts], axis=axis)
    shape = *parts[0].shape[:axis], sum(part.shape[axis] for part in parts), *parts[0].shape[axis + 1 :]
    return model.finished(node, parts[0]._replace(ids=ids, shape=shape, plane=tuple(plane)))


def moved(model: Operands, node: Node) -> list[Value]:
    """Operators that only give elements other places."""
    operator, position = operator_of(node), moved_input(node, model)
    model.copies(node, position)
    value, shapes = model.value(node.inputs[position]), [model.shape(name) for name in node.outputs]
    if node.int("batch_dims"):
        raise NotCoveredError("it picks in batches")
    if operator.roles.sizes:  # a Reshape is told its result
        told = model.ints(node, operator.roles.sizes[0]) if node.has(1) else [*node.ints("new_shape")]
        told = [-1 if size == 0 and node.domain != TFLITE else size for size in told]
        if len(told) != len(shapes[0]) or any(t not in (-1, size) for t, size in zip(told, shapes[0], strict=True)):
            raise NotCoveredError(f"it is to become {told}, and its result is {list(shapes[0])}")
    results, count = list[Value](), 0
    for shape, way in zip(shapes, passages(node, model), strict=True):
        move = operator.movement(way) if way is not None and operator.movement else None
        if move is None:
            raise NotCoveredError("where it takes elements from is not known")
        count += model.table.look(shape)
        results.append(value.moved(move.forward) if isinstance(value, Fixed) else model.moved(value, move.forward))
    if operator.canonical == "Split":
        given = value.shape if isinstance(value, Lanes) else value.array.shape
        (axis,), stated = model.stated(node, "axis", (0,)) or (0,), model.stated(node, "split", ())
        if count != math.prod(given) or (stated and [*stated] != [shape[axis] for shape in shapes]):
            raise NotCoveredError("its parts are not the whole")
    return results


def padded(model: Operands, node: Node) -> Lanes:
    """Pad with real 0, which is the zero-point, or integers with an integer."""
    model.copies(node, 0)
    mirrored = node.op_type == "MIRROR_PAD" or node.text("mode", "constant") != "constant"
    if mirrored or node.has(3) or (node.domain == TFLITE and node.has(2)):
        raise NotCoveredError("it pads with something else than zeros, or some axes")
    value, pads, table = model.lanes(node, 0), model.numbers(node, 1), model.table
    amounts = [(int(a), int(b)) for a, b in (pads if node.domain == TFLITE else pads.reshape(2, -1).T)]
    filled = model.operand(node, 2) if node.has(2) else Fixed(np.zeros(1))
    if not isinstance(filled, Fixed) or not value.integers or min(map(min, amounts)) < 0:
        raise NotCoveredError("it pads real numbers, or cuts")
    offset = OFFSETS.get(model.graph.elem_type(node.inputs[0]), 0)
    fill = value.zero if value.scale else int(filled.array.item()) - offset
    if (value.scale and filled.real.any()) or abs(fill) >= 2**53:  # bounds are kept as float64
        raise NotCoveredError("it pads with another number than 0")
    filler, rank = int(table.constants(np.array(fill))), len(value.shape)
    axes: Sequence[int] = value.plane
    if rank > 2:
        axes = [axis - (node.domain == TFLITE) for axis in model.across(rank)]
        value = model.over(value, axes)
    around = [(0, 0) if axis in axes else amount for axis, amount in enumerate(amounts)]
    shape = tuple(size + sum(amount) for size, amount in zip(value.shape, amounts, strict=True))
    key = [tuple(part[axis] for axis in axes) for part in (value.shape, [a for a, _ in amounts], shape)]

    ids = value.ids.copy()
    lanes = ids[others := ids != filler]
    if key[0] != key[2]:
        ends = np.minimum(table.low[lanes], fill), np.maximum(table.high[lanes], fill)
        pads = np.array([pad_around(table, lane, key, fill) for lane in lanes.tolist()], np.int64).reshape(-1, 2)
        ids[others] = table.numbers(pads[:, 0], pads[:, 1], 0, *ends)
    table.look([size + sum(amount) for size, amount in zip(ids.shape, around, strict=True)])
    plane = tuple(axis for axis in axes if shape[axis] > 1)
    ids = np.pad(ids, around, constant_values=filler)
    return model.finished(node, value._replace(ids=ids, shape=shape, plane=plane))


def pad_around(table: Numbers, lane: int, key: Sequence[tuple[int, ...]], fill: int) -> tuple[int, int]:
    """The name of a lane with places of one number around it, and the lane inside: pads around pads are one pad."""
    (sizes, before, outer), (kind, *told) = key, table.told[table.rows[lane, 0]]
    if kind == "pad" and told[2:] == [sizes, fill]:
        sizes, lane = told[0], int(table.rows[lane, 1])
        before = tuple(map(sum, zip(told[1], before, strict=True)))
    return table.name("pad", sizes, before, outer, fill), lane


def handed_on(model: Operands, node: Node) -> Value:
    """Identity, and a Dropout that does not train."""
    if node.op_type == "Dropout":
        ratio, trains = (model.operand(node, at) if node.has(at) else Fixed(np.zeros(1)) for at in (1, 2))
        if len(node.outputs) > 1 or node.opset < BROADCASTING or not isinstance(trains, Fixed) or trains.array.any():
            raise NotCoveredError("it drops elements, or tells which")
        if not isinstance(ratio, Fixed) or ratio.array.size != 1 or not 0 <= ratio.array.item() < 1:
            raise NotCoveredError("ONNX Runtime refuses its ratio")
        said(node)  # its ratio and its seed are for training
    return model.value(node.inputs[0])


Function = Callable[[Operands, Node], "Value | list[Value]"]


FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(CURVES, curve),
    **dict.fromkeys(PAIRS, pair),
    **dict.fromkeys((*ACTIVATIONS, "Clip"), clamp),
    **dict.fromkeys(("MaxPool", "AveragePool"), pooling),
    **dict.fromkeys(("GlobalAveragePool", "ReduceMean"), mean),
    **dict.fromkeys(("MatMul", "Gemm"), dense),
    **dict.fromkeys(("Conv", "ConvTranspose"), convolution),
    **dict.fromkeys(("Identity", "Dropout"), handed_on),
    "Concat": joined,
    "Pad": padded,
    **dict.fromkeys(("QuantizeLinear", "QUANTIZE"), quantized),
    **dict.fromkeys(("DequantizeLinear", "DEQUANTIZE"), dequantized),
}
"""What is done with an operator, by its one name."""
KEEPING: tuple[Function, ...] = (moved, joined, padded, handed_on)
"""Functions that compute no number."""
