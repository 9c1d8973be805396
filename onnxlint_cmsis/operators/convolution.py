"""Convolutions: how they tie axes, and their records."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.elementwise_ties import per_channel
from onnxlint_cmsis.operators.layer_values import layer_values
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import BY_WEIGHTS, Operator, replace

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


def _convolution(name: str, roles: Roles) -> Operator:
    conv = Operator(name, convolution, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, roles=roles, new_lane=ZEROS)
    return replace(conv, values=layer_values, demand=BY_WEIGHTS)


CONV = _convolution("Conv", Roles(weights=(1,), form=Form.CONVOLUTION, sums=Sums.FLOAT, bias=2))
CONV_TRANSPOSE = _convolution("ConvTranspose", Roles(weights=(1,), form=Form.TRANSPOSED, sums=Sums.FLOAT, bias=2))

CONVOLUTIONS = (CONV, CONV_TRANSPOSE)
