"""Tie rules of TensorFlow Lite's convolutions and pools: NHWC data, weights with the input channels last."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.ties.convolution_ties import grouped, note_layer, share_of
from onnxlint_cmsis.operators.ties.elementwise_ties import per_channel

IMAGE_RANK = 4
BIAS = 2


class ImageAxes(NamedTuple):
    """Axes of NHWC data."""

    batch: Dimension
    """N."""
    plane: Axes
    """H and W."""
    channels: Dimension
    """C."""


def image(context: Context, position: int) -> ImageAxes:
    """Data of rank 4. Raises NotFollowedError for another rank."""
    batch, *plane, channels = _of_rank(context, position)
    return ImageAxes(batch, tuple(plane), channels)


def _of_rank(context: Context, position: int) -> Axes:
    axes = context.need(position)
    if len(axes) != IMAGE_RANK:
        raise NotFollowedError(f"input {position} of {context.node.op_type} has rank {len(axes)} where 4 is allowed")
    return axes


def conv_2d(_node: Node, context: Context) -> None:
    """CONV_2D with weights [O, H, W, C / groups]; the shapes tell the groups."""
    data, kernel = image(context, 0), _of_rank(context, 1)
    rows, columns = kernel[0], kernel[3]
    groups = _groups(context, data.channels, columns)
    made, reads = rows, [columns]
    if groups == 1:
        context.tie(data.channels, columns)
    else:
        made, reads = grouped(context, data.channels, rows, columns, groups)
    note_layer(context, 1, [rows], reads)
    context.pin_all(kernel[1:3], f"kernel size of {context.node.op_type}")
    per_channel(context, BIAS, made)
    new_plane(context, data, made)


def _groups(context: Context, channels: Dimension, columns: Dimension) -> int:
    total, inner = context.size(channels), context.size(columns)
    if not total or not inner or total % inner:
        raise NotFollowedError(f"{total} channels are not a multiple of the {inner} that the weights have")
    return total // inner


def depthwise_conv_2d(node: Node, context: Context) -> None:
    """DEPTHWISE_CONV_2D with weights [1, H, W, C x multiplier]; an option names the multiplier."""
    data, kernel = image(context, 0), _of_rank(context, 1)
    rows = kernel[3]
    multiplier = share_of(context, rows, context.size(data.channels) or 0)
    if node.int("depth_multiplier", multiplier) != multiplier:
        stated = node.int("depth_multiplier")
        raise NotFollowedError(f"depth_multiplier is {stated}; the weights have {multiplier} for each channel")
    if multiplier == 1:
        context.tie(rows, data.channels)
    else:
        factor = context.multipliers[node.index] = Dimension(multiplier)
        context.tie(rows, context.product((data.channels, factor)))
        context.name_attribute("depth_multiplier", 0, [factor])
    note_layer(context, 1, [rows], [])
    context.pin_all(kernel[:3], f"kernel size of {node.op_type}")
    per_channel(context, BIAS, rows)
    new_plane(context, data, rows)


def transpose_conv(_node: Node, context: Context) -> None:
    """TRANSPOSE_CONV: the result's shape, weights [O, H, W, C], data, bias."""
    kernel, data = _of_rank(context, 1), image(context, 2)
    rows, columns = kernel[0], kernel[3]
    context.tie(data.channels, columns)
    note_layer(context, 1, [rows], [columns])
    context.pin_all(kernel[1:3], f"kernel size of {context.node.op_type}")
    per_channel(context, 3, rows)
    stated = context.ints(0)
    if stated is None or len(stated) != IMAGE_RANK:
        context.pin_all((data.batch, rows), "the shape of the result is computed at run time")
    else:
        context.name_input(0, 0, [data.batch])
        context.name_input(0, 3, [rows])
    new_plane(context, data, rows)


def pool_2d(_node: Node, context: Context) -> None:
    """Pools of windows, one channel after the other."""
    data = image(context, 0)
    new_plane(context, data, data.channels)


def resize_2d(_node: Node, context: Context) -> None:
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: another plane."""
    pool_2d(_node, context)


def new_plane(context: Context, data: ImageAxes, channels: Dimension) -> None:
    """A result of the same batch with these channels; both planes are locked."""
    reason = f"{context.node.op_type} computes along this axis"
    sizes = [context.size(data.batch), None, None, context.size(channels)]
    batch, *plane, last = context.output(0, sizes)
    context.tie_all((batch, last), (data.batch, channels))
    context.pin_all((*data.plane, *plane), reason)
