"""Convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.intervals import SLACK, Interval, as_stored, fits, is_whole, lay, point, unknown
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.arithmetic import activated, add, multiply, requantized, stored, twice_rounded, vector_of
from onnxlint_cmsis.operators.common_ties import broadcast_axis, per_channel, regroup
from onnxlint_cmsis.operators.record import (
    BY_WEIGHTS,
    ZEROS,
    Elements,
    LayerSum,
    Layout,
    Operator,
    Risk,
    TieRule,
    ValueView,
    real_attribute,
)

# Results of convolutions and matrix products: the sum of products, the bias, and what follows in the same node.


def layer_values(node: Node, view: ValueView) -> Interval | None:
    """Sum, bias and summand; the scales of integers; the activation that ends the node."""
    layer, roles = view.layer_sum(node), view.roles(node)
    if layer is None:
        return None
    if roles.sums is Sums.STORED:
        return _in_stored_scales(node, view, layer)
    if roles.sums is Sums.INTEGERS:
        return _integers(node, view, layer)
    total = layer.total if roles.sums is Sums.FLOAT else multiply(layer.total, _unit(node, view, layer), SLACK)
    for position in (roles.bias, roles.summand):
        if node.has(position):
            added = view.input(node, position)
            if added is None:
                return None
            added = _placed(added, node, view, total.low.ndim)
            if not fits(total.low.shape, added.low.shape):
                return None
            total = add(total, added, view.rounding(node))
            maker = view.graph.producers.get(node.inputs[position])
            if maker is not None and maker.op_type == "DequantizeLinear":  # may run in integers, scaled afterwards
                total = total.rounded(SLACK)
    return activated(total, node, view.rounding(node))


def _integers(node: Node, view: ValueView, layer: LayerSum) -> Interval | None:
    """An integer sum, by itself or times the scales in the steps of the result."""
    roles, total = view.roles(node), layer.total
    if node.has(roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None:
            return None
        total = add(total, _placed(bias, node, view, total.low.ndim), 0.0)
    total = as_stored(total, "int32")
    if roles.result.scale < 0:
        return total
    real = multiply(total, _unit(node, view, layer), 0.0)
    return requantized(real, node, view) if node.has(roles.result.scale) else real.rounded(SLACK)


def _placed(added: Interval, node: Node, view: ValueView, rank: int) -> Interval:
    """A bias as it meets the result: along the channels of a convolution, or broadcast and times beta."""
    if view.roles(node).form in (Form.CONVOLUTION, Form.TRANSPOSED):
        return lay(added, 1, rank) if added.low.ndim == 1 else added
    return multiply(added, point(real_attribute(node, "beta", 1.0)), 0.0)


def _unit(node: Node, view: ValueView, layer: LayerSum) -> Interval:
    """Product of the scales of data and weights; unknown where the data has several."""
    unit = point(real_attribute(node, "alpha", 1.0))
    for triple in view.roles(node).quantized:
        if triple.value >= 0 and triple.scale >= 0:
            scale = view.input(node, triple.scale)
            if scale is None:
                return unknown(0)
            if scale.low.size == 1:
                scale = scale.moved(lambda array: array.reshape(()))
            elif scale.low.ndim == 1 and triple.value == layer.weights:
                scale = lay(scale, layer.axis, layer.total.low.ndim)
            else:
                return unknown(0)
            unit = multiply(unit, scale, 0.0)
    return unit


# Results where tensors keep their scales: the sum, the bias, the activation, the result's steps.


def _in_stored_scales(node: Node, view: ValueView, layer: LayerSum) -> Interval | None:
    """Sum and bias; integers times the scales of data and weights; then as the result's tensor holds it."""
    total = _with_bias(layer, node, view)
    if total is None or not is_whole(view.made_type(node)):
        return None if total is None else stored(total, node, view)
    unit = _stored_unit(layer, node, view)
    kept = view.graph.quantization.get(node.outputs[0])
    if unit is None or kept is None or not kept.scales[0] > 0:
        return None
    error = twice_rounded(unit.high / kept.scales[0])
    return stored(multiply(total, unit, 0.0), node, view, error)


def _with_bias(layer: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """The sum with the bias that lies along the last axis; integers in the bias' type, int32 without one."""
    roles, total = view.roles(node), layer.total
    rank, kind = total.low.ndim, "int32"
    if node.has(roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None or bias.low.ndim != 1:
            return None
        placed = lay(bias, rank - 1, rank)
        if not fits(total.low.shape, placed.low.shape):
            return None
        total, kind = add(total, placed, view.rounding(node)), view.elem_type(node.inputs[roles.bias])
    return as_stored(total, kind) if is_whole(view.made_type(node)) else total


def _stored_unit(layer: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """Scale of the data times those of the weights, one for each channel where there are several."""
    data = view.graph.quantization.get(node.inputs[view.roles(node).data[0]])
    weights = view.graph.quantization.get(node.inputs[layer.weights])
    if data is None or weights is None or len(data.scales) != 1:
        return None
    rank = layer.total.low.ndim
    scales = vector_of(weights.scales, weights._replace(axis=rank - 1), rank)
    return multiply(scales, point(np.float64(data.scales[0])), 0.0)


# Tie rules of convolutions, and of normalisation with numbers per channel.


IMAGE_RANK = 4
"""Axes of images that have their channels last."""


class Groups(NamedTuple):
    """Channels of a convolution."""

    result: Dimension
    """Output channels."""
    decides: tuple[Dimension, ...]
    """What the weights decide."""
    reads: tuple[Dimension, ...] = ()
    """What the weights sum over, and fill with zeros."""


def convolution(node: Node, context: Context) -> None:
    """Each output channel sums over the input channels of its group; the plane is locked."""
    roles, form = context.roles, context.roles.form
    if form is None or node.int("channels_last"):
        raise NotFollowedError(f"{node.op_type} with channels last is not followed")
    axes, kernel = image(context, roles.data[0]), image(context, roles.weights[0])
    if len(axes) != len(kernel) or len(axes) < 3:
        raise NotFollowedError(f"data of rank {len(axes)} and weights of rank {len(kernel)} do not make a convolution")
    channels = axes[roles.channels(len(axes))]
    outputs, inputs = form.outputs(len(kernel)), form.inputs(len(kernel))
    group = _group_count(context, form, channels, kernel[inputs])
    ties = _transposed_groups if form.transposed else _groups
    result, decides, reads = ties(context, channels, kernel[outputs], kernel[inputs], group)
    note_layer(context, roles.weights[0], decides, reads)
    counted = (outputs,) if form.depthwise else (outputs, inputs)
    context.pin_all((axis for at, axis in enumerate(kernel) if at not in counted), f"kernel size of {node.op_type}")
    for position in (*roles.parameters(roles.weights[0]), roles.bias):
        per_channel(context, position, result)
    if "result" in roles.numbers:
        _named_result(context, roles.numbers["result"].input, axes[0], result)
    new_plane(context, axes, result)
    if context.has(roles.summand):
        context.output_as(0, context.need(roles.summand))


def image(context: Context, position: int) -> Axes:
    """Axes of an image, or of weights. Raises NotFollowedError for a rank that the format does not allow."""
    axes = context.need(position)
    if context.roles.channels_last and len(axes) != IMAGE_RANK:
        raise NotFollowedError(f"input {position} of {context.node.op_type} has rank {len(axes)} where 4 is allowed")
    return axes


def note_layer(context: Context, weights: int, decides: Sequence[Dimension], reads: Sequence[Dimension]) -> None:
    """Note what constant weights decide and read; with others, a filled lane may meet a weight that is not 0."""
    if not context.is_constant(weights):
        context.pin_all(reads, f"{context.node.op_type} with weights computed at run time sums over this axis")
    context.layer(weights, decides, reads)


def new_plane(
    context: Context, axes: Axes, channels: Dimension, does: str = "computes along this axis", size: Size = None
) -> None:
    """Results of the same batch with these channels; all planes are locked, those of results have `size`."""
    channel_axis = context.roles.channels(len(axes))
    kept = {0: axes[0], channel_axis: channels}
    reason = f"{context.node.op_type} {does}"
    for position in range(len(context.node.outputs)):
        sizes = [context.size(kept[at]) if at in kept else size for at in range(len(axes))]
        result = context.output(position, sizes)
        context.tie_all((result[at] for at in kept), kept.values())
        context.pin_all((axis for at, axis in enumerate(result) if at not in kept), reason)
    context.pin_all((axis for at, axis in enumerate(axes) if at not in kept), reason)


def _group_count(context: Context, form: Form, channels: Dimension, inputs: Dimension) -> int:
    """Groups that the node states, or that follow from the shapes."""
    if stated := context.roles.stated("group").attribute:
        return context.node.int(stated, 1)
    total, inner = context.size(channels), context.size(inputs)
    if form.transposed:
        return 1
    if not form.depthwise and (not total or not inner or total % inner):
        raise NotFollowedError(f"{total} channels are not a multiple of the {inner} that the weights have")
    return total or 0 if form.depthwise else (total or 0) // (inner or 1)


def _groups(context: Context, channels: Dimension, outputs: Dimension, inputs: Dimension, group: int) -> Groups:
    """Weights with the output channels of all groups, and the input channels of one."""
    stated, node = context.roles.stated("group").attribute, context.node
    if context.roles.form is Form.DEPTHWISE_LAST or (stated and group != 1 and context.size(inputs) == 1):
        return _depthwise(context, channels, outputs, inputs, group)
    if group == 1:
        context.tie(channels, inputs)
        if stated and context.size(inputs) == 1:
            context.multipliers[node.index] = outputs
    else:
        groups = context.fixed(group, "group count of a grouped convolution")
        share = Dimension(share_of(context, outputs, group))
        context.tie(channels, context.product((groups, inputs)))
        context.tie(outputs, context.product((groups, share)))
    return Groups(outputs, (outputs,), (inputs,))


def _depthwise(context: Context, channels: Dimension, outputs: Dimension, inputs: Dimension, group: int) -> Groups:
    """Each channel is a group; the node states how many there are, or how many output channels each has."""
    stated, multiplier = (context.roles.stated(name).attribute for name in ("group", "depth_multiplier"))
    share = share_of(context, outputs, group)
    if context.node.int(multiplier, share) != share:
        text = f"{multiplier} is {context.node.int(multiplier)}; the weights have {share} for each channel"
        raise NotFollowedError(text)
    if stated:
        context.pin(inputs, "one input channel per group")
        context.tie(channels, Dimension(group))
        context.name_attribute(stated, 0, [channels])
    if share == 1:
        context.tie(outputs, channels)
        return Groups(outputs, (outputs,))
    factor = context.multipliers[context.node.index] = Dimension(share)
    context.tie(outputs, context.product((channels, factor)))
    if not stated:
        context.name_attribute(multiplier, 0, [factor])
    return Groups(outputs, (outputs,))


def _transposed_groups(
    context: Context, channels: Dimension, outputs: Dimension, inputs: Dimension, group: int
) -> Groups:
    """Weights with the input channels of all groups, and the output channels of one."""
    if group not in (1, context.size(inputs)):
        groups = context.fixed(group, "group count of a grouped convolution")
        share = Dimension(share_of(context, inputs, group))
        context.tie(inputs, context.product((groups, share)))
        context.tie(channels, inputs)
        return Groups(context.product((groups, outputs)), (outputs,), (share,))
    context.tie(channels, inputs)
    if group == 1:
        return Groups(outputs, (outputs,), (inputs,))
    result = channels
    if context.size(outputs) == 1:
        context.pin(outputs, "one output channel per input channel")
    else:
        context.multipliers[context.node.index] = outputs
        result = context.product((channels, outputs))
    context.name_attribute("group", 0, [channels])
    return Groups(result, (inputs, outputs))


def share_of(context: Context, channels: Dimension, group: int) -> int:
    """Channels of each group. Raises NotFollowedError where they do not come out even."""
    total = context.size(channels)
    if group < 1 or total is None or total % group:
        raise NotFollowedError(f"{total} channels are not a multiple of {group} groups")
    return total // group


def _named_result(context: Context, position: int, batch: Dimension, channels: Dimension) -> None:
    """An input names the sizes of the result."""
    sizes = context.ints(position)
    if sizes is None or len(sizes) != IMAGE_RANK:
        context.pin_all((batch, channels), "the shape of the result is computed at run time")
        return
    context.name_input(position, 0, [batch])
    context.name_input(position, context.roles.channels(IMAGE_RANK), [channels])


def channel_numbers(node: Node, context: Context) -> None:
    """BatchNormalization, InstanceNormalization: every further input holds a number per channel (axis 1)."""
    axes = context.need(0)
    if len(axes) < 2:
        raise NotFollowedError(f"{node.op_type} of rank {len(axes)} has no channel axis")
    for position in range(1, len(node.inputs)):
        per_channel(context, position, axes[1])
    context.output_as(0, axes)
    if node.op_type == "InstanceNormalization":
        context.pin_all(axes[2:], "InstanceNormalization mixes this axis")
    elif any(node.outputs[1:]) or node.int("training_mode"):
        raise NotFollowedError("BatchNormalization in training mode")


# Convolutions.


def _convolution(name: str, roles: Roles) -> Operator:
    conv = Operator(name, convolution, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, roles=roles, new_lane=ZEROS)
    return replace(conv, values=layer_values, demand=BY_WEIGHTS)


CONV = _convolution("Conv", Roles(weights=(1,), form=Form.CONVOLUTION, sums=Sums.FLOAT, bias=2))
CONV_TRANSPOSE = _convolution("ConvTranspose", Roles(weights=(1,), form=Form.TRANSPOSED, sums=Sums.FLOAT, bias=2))

CONVOLUTIONS = (CONV, CONV_TRANSPOSE)


# Gemm, MatMul and their integer forms.


def matmul(node: Node, context: Context) -> None:
    """Matrix product of two inputs, of which either may have its last two axes swapped first.

    With constants on one side, they are the weights. Two run-time inputs mix what they contract.
    """
    if node.int("transBatchA") or node.int("transBatchB"):
        raise NotFollowedError(f"{node.op_type} that moves a batch axis is not followed")
    roles = context.roles
    left, right = roles.data[0], roles.second
    swaps = (bool(node.int(roles.stated(name).attribute)) for name in ("transA", "transB"))
    first, second = (_swapped(context.need(side), swap) for side, swap in zip((left, right), swaps, strict=True))
    if not first or not second:
        raise NotFollowedError("a matrix product of a scalar")
    rows = first[-2] if len(first) > 1 else None
    columns = second[-1] if len(second) > 1 else None
    contracted = first[-1], second[-2] if len(second) > 1 else second[-1]
    context.tie(*contracted)
    _note_factors(context, (left, right), (rows, columns), contracted)
    longer, shorter = sorted((first[:-2], second[:-2]), key=len, reverse=True)
    alone = len(longer) - len(shorter)
    shared = [broadcast_axis(context, pair) for pair in zip(longer[alone:], shorter, strict=True)]
    context.output_as(0, [*longer[:alone], *shared, *(axis for axis in (rows, columns) if axis is not None)])
    of_rows, of_columns = roles.parameters(left), roles.parameters(right)
    for axis, positions in ((rows, of_rows), (columns, [*of_columns, roles.bias])):
        for position in positions:
            if axis is not None:
                per_channel(context, position, axis)
    if roles.sums is Sums.SCALED and not of_rows:
        reason = "the quantization range is taken over all lanes, and a filled one need not be zero"
        context.pin_all(context.need(left), reason)


def _note_factors(
    context: Context, factors: tuple[int, int], kept: tuple[Dimension | None, ...], contracted: tuple[Dimension, ...]
) -> None:
    """Note the factor that holds weights, the right one first; what two run-time factors contract is locked."""
    for side in (1, 0):
        decides = kept[side]
        if context.is_constant(factors[side]):
            context.layer(factors[side], [] if decides is None else [decides], [contracted[side]])
            return
    context.pin(contracted[0], "a product of two run-time tensors sums over this axis")


def _swapped(axes: Axes, swap: bool) -> Axes:
    """Axes with the last two swapped; a vector has only one and stays."""
    return (*axes[:-2], axes[-1], axes[-2]) if swap and len(axes) > 1 else axes


def gemm(node: Node, context: Context) -> None:
    """`A' B' + C` with optional transposition of A and B."""
    roles = context.roles
    left, right = roles.data[0], roles.second
    first, second = context.need(left), context.need(right)
    if len(first) != 2 or len(second) != 2:
        raise NotFollowedError(f"Gemm of ranks {len(first)} and {len(second)} where 2 is allowed")
    rows, inner = first[::-1] if node.int("transA") else first
    depth, columns = second[::-1] if node.int("transB") else second
    context.tie(inner, depth)
    _note_factors(context, (left, right), (rows, columns), (inner, depth))
    context.output_as(0, (rows, columns))
    if context.has(roles.bias):
        _gemm_bias(context, context.need(roles.bias), (rows, columns))
    for position in roles.parameters(right):
        per_channel(context, position, columns)


def _gemm_bias(context: Context, bias: Axes, result: Axes) -> None:
    """C is broadcast to the result, never the other way round."""
    if len(bias) > 2:
        raise NotFollowedError(f"C of Gemm has rank {len(bias)} where at most 2 is allowed")
    if all(context.size(axis) == 1 for axis in bias):
        return
    for axis, target in zip(bias[::-1], result[::-1], strict=False):
        broadcast_axis(context, (target, axis))


# Tie rule of dense layers whose data is taken as rows.


def fully_connected(node: Node, context: Context) -> None:
    """Weights [N, K] against the last axis of the data, or against data that is taken as rows of K."""
    axes, kernel = context.need(0), context.need(1)
    if len(kernel) != 2 or not axes:
        raise NotFollowedError(f"ranks {len(axes)} and {len(kernel)} where weights of rank 2 are allowed")
    if node.text("weights_format", "DEFAULT") != "DEFAULT":
        raise NotFollowedError("weights in a shuffled order")
    rows, columns = kernel
    note_layer(context, 1, [rows], [columns])
    per_channel(context, 2, rows)
    result = context.axes_of(node.outputs[0])
    if result is None or not result:
        raise NotFollowedError("the rank of the result is not known")
    context.tie(result[-1], rows)
    outer = result[:-1]
    if context.size(axes[-1]) == context.size(columns):
        context.tie(axes[-1], columns)
        regroup(context, axes[:-1], outer)
    else:
        regroup(context, axes, (*outer, columns))


# Matrix products of the default domain.


def _product(name: str, axes: TieRule, roles: Roles) -> Operator:
    product = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, roles=roles, new_lane=ZEROS)
    return replace(product, values=layer_values, demand=BY_WEIGHTS)


FACTORS = Roles(data=(0, 1), weights=(1, 0), form=Form.MATMUL, sums=Sums.FLOAT)
"""Two factors in float, of which either may be constant."""

GEMM = _product("Gemm", gemm, Roles(data=(0, 1), weights=(1, 0), form=Form.GEMM, sums=Sums.FLOAT, bias=2))
MATMUL = _product("MatMul", matmul, FACTORS)

PRODUCTS = (GEMM, MATMUL)
