"""Sums of layers with weights, before requantization: sets of lane, tap and weight, and a bias."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.certificate.operands import Operands
from onnxlint_cmsis.analysis.certificate.table import Key, Numbers, digest
from onnxlint_cmsis.analysis.certificate.values import Lanes
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.roles import Form, Sums
from onnxlint_cmsis.operators.integer_functions import only_multiplies, regrouped
from onnxlint_cmsis.operators.integer_windows import Taps, Window, taps_of, window_of
from onnxlint_cmsis.operators.integers import NotCoveredError
from onnxlint_cmsis.operators.scaled_numbers import Fixed, check_sums, in_steps

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.table import Array, Ids


def convolution(model: Operands, node: Node) -> Lanes:
    """Convolutions of all formats, depthwise, in groups and transposed."""
    value, weights, bias = weighted(model, node)
    x, result_sizes, back = channels_second(model, value, node)
    form, groups = model.roles(node).form, node.int("group", 1)
    transposed = form is not None and form.transposed
    if node.domain == TFLITE:
        groups = x.shape[1] // max(weights.array.shape[1], 1)
    if node.ints("kernel_shape", weights.array.shape[2:]) != weights.array.shape[2:]:
        raise NotCoveredError("its kernel_shape is not that of its weights")
    if transposed:  # the weights have all input channels, and the outputs of one group
        if groups < 1 or weights.array.shape[1] % groups or node.ints("output_shape"):
            raise NotCoveredError("its groups or its padding are not written out")
        weights = weights.moved(lambda array: regrouped(array, groups))
    window = window_of(node, weights.array.shape[2:], x.shape[2:], result_sizes, transposed=transposed)
    return model.finished(node, model.turned(summed(model, x, Summands(weights, bias, groups, window)), back))


def dense(model: Operands, node: Node) -> Lanes:
    """Matrix products with constant weights: a convolution without a plane."""
    value, weights, bias = weighted(model, node)
    gemm = model.roles(node).form is Form.GEMM
    if weights.array.ndim != 2 or not only_multiplies(node, gemm=gemm, biased=bias is not None):
        raise NotCoveredError("it does more than multiply by a matrix")
    columns = weights.array.shape[1] if node.domain == TFLITE else value.shape[-1]
    if bias is not None and bias.array.shape[:-1] in ((), (1,)) and node.domain != TFLITE:
        bias = bias.moved(lambda array: np.broadcast_to(array.reshape(-1), (weights.array.shape[0],)))
    flat = model.spread(model.shaped(value, (math.prod(value.shape) // columns, columns)))
    stored = model.graph.quantization.get(node.inputs[model.roles(node).weights[0]])
    single = node.domain == TFLITE and stored is not None and len(stored.scales) == 1
    result = summed(model, flat, Summands(weights._replace(single=single), bias))
    kept = node.domain != TFLITE or node.int("keep_num_dims")
    return model.finished(node, model.shaped(result, (*value.shape[:-1], result.shape[1])) if kept else result)


def weighted(model: Operands, node: Node) -> tuple[Lanes, Fixed, Fixed | None]:
    """Data, weights [out_c, channels of a group, ...] and bias of a layer that sums."""
    roles = model.roles(node)
    if roles.form is None or roles.sums is Sums.SCALED or node.has(roles.summand) or node.text("activation"):
        raise NotCoveredError("it does more than add a bias to its sums")
    value, weights = (model.operand(node, position) for position in (roles.data[0], roles.weights[0]))
    bias = model.operand(node, roles.bias) if roles.bias >= 0 and node.has(roles.bias) else None
    if not isinstance(value, Lanes) or not isinstance(weights, Fixed) or isinstance(bias, Lanes):
        raise NotCoveredError("its weights or its bias are computed")
    stored = model.graph.quantization.get(node.inputs[roles.weights[0]])
    subtracted = node.op_type == "FULLY_CONNECTED" and stored is not None and len(stored.scales) == 1
    unread = node.domain == TFLITE and weights.array.dtype != np.uint8 and not subtracted
    if unread and value.integers and np.any(weights.zero):
        raise NotCoveredError("its weights have a zero-point, which kernels do not read")
    summed_in = node.text("quantized_bias_type", "FLOAT32")
    if value.bits > 8 and summed_in not in ("FLOAT32", bias and bias.array.dtype.name.upper()):
        raise NotCoveredError("its sums have the type of quantized_bias_type, and its bias another one")
    rank = weights.array.ndim
    if rank < 2:
        raise NotCoveredError(f"its weights are {list(weights.array.shape)}")
    ends = roles.form.outputs(rank), roles.form.inputs(rank)
    if roles.form is Form.GEMM and node.int("transB"):
        ends = ends[::-1]
    order = [*ends, *(axis for axis in range(rank) if axis not in ends)]
    return value, weights.moved(lambda array: array.transpose(order)), bias


def biased(model: Operands, value: Lanes, bias: Fixed) -> Lanes:
    """Sums with a constant added."""
    table = model.table
    shape, ids = np.broadcast_shapes(value.ids.shape, bias.array.shape), value.ids.reshape(-1)
    if shape != value.ids.shape or not table.are(ids, "scaled").all():
        return model.paired(value, model.of_constant(bias), ("Add",))
    spread = bias.moved(lambda array: np.broadcast_to(array, shape).reshape(-1))
    _, inner, steps = table.rows[ids].T
    more = in_steps(spread, [table.told[step][0] for step in steps.tolist()], len(ids))
    low, high = table.low[inner], table.high[inner]
    if (np.maximum(abs(low), abs(high)) + np.abs(np.array(more, np.float64)) >= 2**31).any():
        raise NotCoveredError("a sum may need more than 32 bits")
    keys = [table.key(number) for number in inner.tolist()]
    names = [table.name("sum", key[1] + added, *key[2:]) for key, added in zip(keys, more, strict=True)]
    totals = table.numbers(np.array(names), 0, 0, low + np.floor(more), high + np.ceil(more))
    numbers = table.numbers(table.name("scaled"), totals, steps)
    table.unsettled[numbers] = True
    return value._replace(ids=numbers.reshape(shape))


def channels_second(model: Operands, value: Lanes, node: Node) -> tuple[Lanes, tuple[int, ...], list[int]]:
    """An image with its channels behind the batch, the sizes of the plane of the result, and the way back."""
    if node.int("channels_last"):
        raise NotCoveredError("its channels are last")
    rank, shape = len(value.shape), model.shape(node.outputs[0])
    order = [0, rank - 1, *range(1, rank - 1)] if model.roles(node).channels_last else [*range(rank)]
    return model.turned(value, order), tuple(shape[axis] for axis in order[2:]), [order.index(n) for n in range(rank)]


class Summands(NamedTuple):
    """What a layer adds up its input with."""

    weights: Fixed
    """[out_c, channels / groups, ...]."""
    bias: Fixed | None
    """[out_c]."""
    groups: int = 1
    """Groups of channels."""
    window: Window = Window((), (), (), (), (), ())
    """Places of the plane that weights meet."""


def summed(model: Operands, x: Lanes, layer: Summands) -> Lanes:
    """The sum of a layer before requantization; `x` is [batch, channels, ...] of integers with a scale."""
    table, (weights, bias, groups, window) = model.table, layer
    if not x.integers or not x.scale or x.single or weights.scale is None or weights.zero is None:
        raise NotCoveredError("it sums real numbers, of which the order matters")
    axes = model.across(len(x.shape))
    rows, along = model.by_line(window)
    x, along = _unpadded(model, model.over(x, axes), along)
    count, inner = weights.array.shape[:2]
    if x.shape[1] != inner * groups or count % groups:
        raise NotCoveredError(f"its weights are {list(weights.array.shape)}, its input {list(x.shape)}")
    factors = weights.array.astype(np.int64) - np.asarray(weights.zero, np.int64)
    if len(along.kernel) < len(window.kernel):  # a line of the window reads a lane of its own
        factors = np.moveaxis(factors, model.apart, 2)
    factors = factors.reshape(count, inner * len(rows), -1)
    scales = np.broadcast_to(weights.scale, weights.array.shape).reshape(count, -1)
    if (scales != scales[:, :1]).any():
        raise NotCoveredError("the weights of a lane have several scales")
    steps = [x.scale * scale for scale in scales[:, 0].tolist()]
    others = steps
    if weights.single:
        others = [float(np.float32(x.scale) * np.float32(scale)) for scale in scales[:, 0].tolist()]
    biases = in_steps(bias, steps, count)
    # TensorFlow Lite Micro sums and rounds 16 bits by the type of the bias, as with int64 where there is none
    short = bias is not None and x.bits > 8 and bool(model.graph.quantization) and bias.array.dtype == np.int32
    check_sums(factors, biases, x.bits, short=short)
    held = (x.zero, x.bits, short)
    known, told = table.known, (digest(x.ids), held, digest(factors), repr(biases), groups, rows.tobytes(), along)
    if told not in known:
        taps, parts = taps_of(along), _read_rows(model, x, rows).reshape(-1, groups, inner * len(rows))
        known[told] = np.array([_sums(table, part, held, (factors, biases), taps) for part in parts], np.int64)
    sums = known[told]
    ids = table.numbers(table.name("scaled"), sums, np.array([*map(table.name, steps, others)]))
    table.unsettled[ids] = True
    shape = (x.shape[0], count, *window.result_sizes)
    ids = ids.reshape(x.shape[0], rows.shape[1], count).swapaxes(1, 2)
    ids = ids.reshape([1 if axis in axes else size for axis, size in enumerate(shape)])
    return Lanes(ids, shape, tuple(axis for axis in axes if shape[axis] > 1))


def _read_rows(model: Operands, x: Lanes, rows: Array) -> Ids:
    """Lanes that a layer reads for each line of its result: [batch, lines, channels, lines of the window].

    Padding adds nothing to a sum, as a line does that holds the zero-point everywhere.
    """
    padding = np.full((*x.ids.shape[:2], 1), model.table.constants(np.array(x.zero)))
    lanes = np.concatenate([x.ids.reshape(*x.ids.shape[:2], -1), padding], axis=2)  # a place of -1 is the last
    model.table.look((*lanes.shape[:2], *rows.shape))
    return np.asarray(lanes[:, :, rows].transpose(0, 3, 1, 2), np.int64)


def _unpadded(model: Operands, x: Lanes, window: Window) -> tuple[Lanes, Window]:
    """The lanes behind a Pad with the zero-point, whose amounts go into the window; the sizes of `x` stay."""
    table, behind = model.table, model.table.are(x.ids, "pad")
    pads = {table.told[name][1:] for name in np.unique(table.rows[x.ids[behind], 0]).tolist()}
    held = x.ids[~behind]
    sizes, before, outer, value = pads.pop() if len(pads) == 1 else ((),) * 4
    known = table.are(held, "constant").all() and (table.rows[held, 1] == x.zero).all()
    if not known or value != x.zero or outer != window.sizes:  # a Reshape puts the lane into another plane
        return x, window
    ids = np.where(behind, table.rows[x.ids, 1], x.ids)
    return x._replace(ids=ids), window._replace(ahead=before, sizes=sizes)


def _sums(table: Numbers, lanes: Ids, held: Key, terms_of: tuple[Array, Sequence[float]], taps: Taps) -> Ids:
    """Numbers of sums over lanes [groups, channels].

    `held` has the zero-point and the bits of the input, and whether the bias makes it another sum; the terms are
    factors [out_c, channels, places of the window] and biases [out_c].
    """
    (groups, inner), (zero, *width), (factors, biases) = lanes.shape, held, terms_of
    order = np.argsort(lanes, axis=1, kind="stable")
    lanes = np.take_along_axis(lanes, order, axis=1)
    factors = factors.reshape(groups, -1, inner, factors.shape[2])
    active = np.take_along_axis(factors, order[:, None, :, None], axis=2)
    active[..., ~taps.meets] = 0
    fixed = table.are(lanes, "constant")
    low, high = (side[lanes].astype(np.int64) - zero for side in (table.low, table.high))
    # constant lanes: what they add everywhere goes into the bias, what the border lacks of it stays apart
    constant = np.einsum("gcit,gi->gct", active, low * fixed)
    base, edges = taps.border(constant)
    # all others: terms of lane, tap and weight, and bounds of what they add; a lane may be there more than once
    active.swapaxes(1, 2)[fixed] = 0
    for group, lane in np.argwhere((lanes[:, 1:] == lanes[:, :-1]) & ~fixed[:, 1:])[::-1].tolist():
        active[group, :, lane] += active[group, :, lane + 1]
        active[group, :, lane + 1] = 0
    names = table.numbers(np.array([table.name("tap", *name) for name in (*taps.names, ())]), 0)
    order = np.argsort(names[:-1], kind="stable")
    group, row, lane, tap = np.nonzero(active[..., order])
    rows, taken = group * active.shape[1] + row, names[order[tap]]
    ends = np.cumsum(np.bincount(rows, minlength=len(biases))).tolist()
    moving = np.bincount(rows[taken != names[-1]], minlength=len(biases)).tolist()
    terms = np.stack([lanes[group, lane], active[group, row, lane, order[tap]]], axis=1).tobytes()
    keys = []
    for at, start, end in zip(range(len(biases)), [0, *ends], ends, strict=False):
        used = digest(taken[start:end]) if moving[at] else b""
        told = hashlib.sha256(terms[16 * start : 16 * end]).digest()
        more = zero if end > start else 0, *width, used, told, digest(edges[at]) if at in edges else b""
        keys.append(table.name("sum", biases[at] + base[at], *more))
    least, most = taps.ends(constant, active, low, high)
    return table.numbers(np.array(keys), 0, 0, np.floor(biases) + least, np.ceil(biases) + most)
