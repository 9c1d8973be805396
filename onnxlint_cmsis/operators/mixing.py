"""Operators that mix or count the elements of an axis: softmax, normalizations, reductions."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.model.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.operators.arithmetic import (
    Summary,
    batch_normalization,
    deviation_normalization,
    elementwise_demand,
    largest,
    log_total,
    mean,
    norm,
    norm_division,
    picked_values,
    plane_normalization,
    product,
    reduction,
    reduction_demand,
    running_total,
    share_values,
    total,
)
from onnxlint_cmsis.operators.common_ties import normalised
from onnxlint_cmsis.operators.record import (
    OPAQUE,
    ZEROS,
    Elements,
    Layout,
    NewLane,
    NotFollowed,
    Operator,
    Risk,
    TieRule,
    ValueRule,
)
from onnxlint_cmsis.operators.weighted import channel_numbers

# Tie rules of operators that mix or count the elements of an axis.


def along_axis(node: Node, context: Context) -> None:
    """Same axes; the operator mixes the one it names."""
    axes, listed = context.need(0), context.stated("axis", (-1,))
    context.output_as(0, axes)
    chosen = [axes[normalised(axis, len(axes))] for axis in listed] if listed else axes
    context.pin_all(chosen, f"{node.op_type} mixes this axis")


def softmax(node: Node, context: Context) -> None:
    """One axis from opset 13 on; before, everything from `axis` on."""
    axes = context.need(0)
    context.output_as(0, axes)
    modern = node.opset >= 13
    axis = normalised(node.int("axis", -1 if modern else 1), len(axes))
    context.pin_all(axes[axis : axis + 1] if modern else axes[axis:], f"{node.op_type} mixes this axis")


def reduce(node: Node, context: Context) -> None:
    """Lock the reduced axes; the result lacks them or has them with size 1."""
    axes, listed = context.need(0), context.stated("axes", ())
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    if not listed and not context.roles.number(node, "noop_with_empty_axes"):
        listed = tuple(range(len(axes)))
    kept = 1 if context.roles.number(node, "keepdims", 1) else None
    reduced_axes(context, axes, {normalised(axis, len(axes)) for axis in listed}, kept)


def reduced_axes(context: Context, axes: Axes, chosen: set[int], kept: int | None) -> None:
    """Lock the chosen axes; every output has them with size `kept`, or lacks them where `kept` is None."""
    reason = f"{context.node.op_type} mixes this axis"
    context.pin_all((axes[axis] for axis in sorted(chosen)), reason)
    kept_axes = []
    for number, axis in enumerate(axes):
        if number not in chosen:
            kept_axes.append(axis)
        elif kept is not None:
            kept_axes.append(context.fixed(kept, reason))
    for position in range(len(context.node.outputs)):
        context.output_as(position, kept_axes)


def arg_extreme(node: Node, context: Context) -> None:
    """ArgMax, ArgMin: positions along one axis."""
    axes, listed = context.need(0), context.stated("axis", (0,))
    if listed is None or len(listed) != 1:
        raise NotFollowedError("the axis to look along is computed at run time")
    kept = 1 if context.roles.number(node, "keepdims", 1) else None
    reduced_axes(context, axes, {normalised(listed[0], len(axes))}, kept)


def top_k(node: Node, context: Context) -> None:
    """Values and positions along one axis, which becomes k long."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    count = context.ints(1) if context.has(1) else (node.int("k"),)
    result = list(axes)
    context.pin(axes[axis], "TopK compares along this axis")
    result[axis] = context.fixed(count[0] if count else None, "TopK picks along this axis")
    for position in range(len(node.outputs)):
        context.output_as(position, result)


def layer_normalization(node: Node, context: Context) -> None:
    """Mixes every axis from `axis` on; scale and bias lie along them."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    context.output_as(0, axes)
    context.pin_all(axes[axis:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")
    for position in range(1, len(node.outputs)):
        statistics = [*axes[:axis], *(context.fixed(1, f"{node.op_type} mixes this axis") for _ in axes[axis:])]
        context.output_as(position, statistics)


def group_normalization(node: Node, context: Context) -> None:
    """Mixes the channels of each group and the plane."""
    axes = context.need(0)
    context.output_as(0, axes)
    context.pin_all(axes[1:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")


def mean_variance(node: Node, context: Context) -> None:
    """Mixes the axes it names."""
    axes = context.need(0)
    context.output_as(0, axes)
    for axis in node.ints("axes", (0, 2, 3)):
        context.pin(axes[normalised(axis, len(axes))], f"{node.op_type} mixes this axis")


# Normalizations: with numbers per channel, or with the mean and deviation of some axes.


SCALE_AND_VARIANCE = NewLane(ones=(1, 4))
"""New channels have scale 1 and variance 1, bias 0 and mean 0."""


def _normalization(name: str, axes: TieRule, risk: Risk, values: ValueRule | NotFollowed = OPAQUE) -> Operator:
    return Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS, values=values)


BATCH_NORMALIZATION = Operator(
    "BatchNormalization",
    channel_numbers,
    Elements.COMPUTED,
    Risk.NONE,
    Layout.IMAGE,
    new_lane=SCALE_AND_VARIANCE,
    values=batch_normalization,
    demand=elementwise_demand,
)


LAYER_NORMALIZATION = _normalization("LayerNormalization", layer_normalization, Risk.EPSILON, plane_normalization)

NORMALIZATIONS = (
    BATCH_NORMALIZATION,
    _normalization("GroupNormalization", group_normalization, Risk.NONE),
    _normalization("InstanceNormalization", channel_numbers, Risk.EPSILON, plane_normalization),
    LAYER_NORMALIZATION,
    _normalization("LpNormalization", along_axis, Risk.ALWAYS, norm_division),
    replace(_normalization("LRN", along_axis, Risk.NONE), roles=Roles(numbers={"axis": Stated(default=1)})),
    _normalization("MeanVarianceNormalization", mean_variance, Risk.ALWAYS, deviation_normalization),
    _normalization("RMSNormalization", layer_normalization, Risk.EPSILON, plane_normalization),
)


# Operators that take the elements along some axes together, and others that mix one axis.


AXES = Roles(numbers={"axes": Stated("axes", 1)})
"""The axes are an attribute or an input, by opset."""


def _mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    risk: Risk = Risk.NONE,
    bounds: tuple[float, float] | None = None,
) -> Operator:
    operator = Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS)
    return replace(operator, bounds=bounds, values=values, roles=AXES if axes is reduce else Roles())


def _reduction(name: str, summary: Summary, risk: Risk = Risk.NONE) -> Operator:
    """Elements along some axes taken together."""
    return replace(_mixing(name, reduce, reduction(summary), risk), demand=reduction_demand)


AXIS_INPUT = Roles(numbers={"axis": Stated(input=1)})
SOFTMAX = replace(_mixing("Softmax", softmax, share_values, bounds=(0.0, 1.0)), slope=0.5)
"""The slopes of a share along all inputs are 2p(1-p) together."""

REDUCE_MEAN = replace(_reduction("ReduceMean", mean), slope=1.0)

REDUCTIONS = (
    SOFTMAX,
    _mixing("ArgMax", arg_extreme),
    _mixing("ArgMin", arg_extreme),
    replace(_mixing("CumSum", along_axis, running_total), roles=AXIS_INPUT),
    _mixing("Hardmax", softmax, share_values, bounds=(0.0, 1.0)),
    _mixing("LogSoftmax", softmax),
    _reduction("ReduceL1", norm),
    _reduction("ReduceL2", norm),
    _reduction("ReduceLogSum", log_total, Risk.ALWAYS),
    _mixing("ReduceLogSumExp", reduce),
    replace(_reduction("ReduceMax", largest), slope=1.0),
    REDUCE_MEAN,
    replace(_reduction("ReduceMin", largest), slope=1.0),
    _reduction("ReduceProd", product, Risk.ALWAYS),
    _reduction("ReduceSum", total),
    _reduction("ReduceSumSquare", norm),
    _mixing("TopK", top_k, picked_values),
)
