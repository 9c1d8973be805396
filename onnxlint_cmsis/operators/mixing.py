"""Operators that mix or count the elements of an axis: softmax, normalizations, reductions."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.model.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.operators.arithmetic import (
    Summary,
    batch_normalization,
    called,
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
    through_scales,
    total,
)
from onnxlint_cmsis.operators.common_ties import normalised, same_as
from onnxlint_cmsis.operators.record import (
    OPAQUE,
    READS_ALL,
    ZEROS,
    DemandRule,
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

# Tie rules of operators that mix or count the elements of an axis, and of pooling, which mixes the plane.


def pool(node: Node, context: Context) -> None:
    """Tie batch and channels, lock the plane."""
    axes = context.need(0)
    if len(axes) < 3:
        raise NotFollowedError(f"pooling of rank {len(axes)}")
    reason = f"{node.op_type} computes along this axis"
    plane = 1 if node.op_type.startswith("Global") else None
    sizes = [*map(context.size, axes[:2]), *[plane] * (len(axes) - 2)]
    for position in range(len(node.outputs)):
        result = context.output(position, sizes)
        context.tie_all(result[:2], axes[:2])
        context.pin_all(result[2:], reason)
    context.pin_all(axes[2:], reason)
    if any(node.outputs[1:]):
        context.pin_all(axes, f"the indices of {node.op_type} count elements across all axes")


def along_axis(node: Node, context: Context) -> None:
    """Same axes; the operator mixes the one its `axis` names."""
    axes = context.need(0)
    same_as(context, 0, axes)
    default = {"CumSum": 0, "LpNormalization": -1, "LRN": 1}.get(node.op_type, -1)
    axis = context.ints(1) if node.op_type == "CumSum" else (node.int("axis", default),)
    chosen = axes if not axis else (axes[normalised(axis[0], len(axes))],)
    context.pin_all(chosen, f"{node.op_type} mixes this axis")


def softmax(node: Node, context: Context) -> None:
    """One axis from opset 13 on; before, everything from `axis` on."""
    axes = context.need(0)
    same_as(context, 0, axes)
    modern = node.opset >= 13
    axis = normalised(node.int("axis", -1 if modern else 1), len(axes))
    context.pin_all(axes[axis : axis + 1] if modern else axes[axis:], f"{node.op_type} mixes this axis")


def reduce(node: Node, context: Context) -> None:
    """Lock the reduced axes; the result lacks them or has them with size 1."""
    axes = context.need(0)
    chosen = _reduced(node, context, axes)
    keep = node.int("keepdims", 1)
    reduced_axes(context, axes, chosen, 1 if keep else None)


def _reduced(node: Node, context: Context, axes: Axes) -> set[int]:
    listed = context.ints_of("axes", 1, ())
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    if not listed and not node.int("noop_with_empty_axes"):
        listed = tuple(range(len(axes)))
    return {normalised(axis, len(axes)) for axis in listed}


def reduced_axes(context: Context, axes: Axes, chosen: set[int], kept: int | None) -> None:
    """Lock the chosen axes; every output has them with size `kept`, or lacks them where `kept` is None."""
    reason = f"{context.node.op_type} mixes this axis"
    context.pin_all((axes[axis] for axis in sorted(chosen)), reason)
    made = []
    for place, axis in enumerate(axes):
        if place not in chosen:
            made.append(axis)
        elif kept is not None:
            made.append(context.fixed(kept, reason))
    for position in range(len(context.node.outputs)):
        context.tie_all(context.output(position, [context.size(axis) for axis in made]), made)


def arg_extreme(node: Node, context: Context) -> None:
    """ArgMax, ArgMin: positions along one axis."""
    axes = context.need(0)
    axis = normalised(node.int("axis", 0), len(axes))
    reduced_axes(context, axes, {axis}, 1 if node.int("keepdims", 1) else None)


def top_k(node: Node, context: Context) -> None:
    """Values and positions along one axis, which becomes k long."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    count = context.ints(1) if context.has(1) else (node.int("k"),)
    made = list(axes)
    context.pin(axes[axis], "TopK compares along this axis")
    made[axis] = context.fixed(count[0] if count else None, "TopK picks along this axis")
    for position in range(len(node.outputs)):
        context.tie_all(context.output(position, [context.size(one) for one in made]), made)


def layer_normalization(node: Node, context: Context) -> None:
    """Mixes every axis from `axis` on; scale and bias lie along them."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    same_as(context, 0, axes)
    context.pin_all(axes[axis:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")
    for position in range(1, len(node.outputs)):
        statistics = [*axes[:axis], *(context.fixed(1, f"{node.op_type} mixes this axis") for _ in axes[axis:])]
        context.tie_all(context.output(position, [context.size(one) for one in statistics]), statistics)


def group_normalization(node: Node, context: Context) -> None:
    """Mixes the channels of each group and the plane."""
    axes = context.need(0)
    same_as(context, 0, axes)
    context.pin_all(axes[1:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")


def mean_variance(node: Node, context: Context) -> None:
    """Mixes the axes it names."""
    axes = context.need(0)
    same_as(context, 0, axes)
    for axis in node.ints("axes", (0, 2, 3)):
        context.pin(axes[normalised(axis, len(axes))], f"{node.op_type} mixes this axis")


# Tie rules of TensorFlow Lite's operators that mix or count the elements of an axis.


def along_last(node: Node, context: Context) -> None:
    """SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION: the last axis is mixed."""
    axes = context.need(0)
    same_as(context, 0, axes)
    context.pin_all(axes[-1:], f"{node.op_type} mixes this axis")


def cumsum(node: Node, context: Context) -> None:
    """CUMSUM along the axis that input 1 names."""
    axes, chosen = context.need(0), context.ints(1)
    same_as(context, 0, axes)
    mixed = axes if chosen is None else [axes[normalised(axis, len(axes))] for axis in chosen]
    context.pin_all(mixed, f"{node.op_type} mixes this axis")


def tflite_reduce(node: Node, context: Context) -> None:
    """MEAN, SUM, REDUCE_MAX and their like: the axes that input 1 lists."""
    axes, listed = context.need(0), context.ints(1)
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    reduced_axes(context, axes, {normalised(axis, len(axes)) for axis in listed}, 1 if node.int("keep_dims") else None)


def tflite_arg_extreme(_node: Node, context: Context) -> None:
    """ARG_MAX, ARG_MIN: positions along the axis that input 1 names."""
    axes, chosen = context.need(0), context.ints(1)
    if chosen is None or len(chosen) != 1:
        raise NotFollowedError("the axis to look along is computed at run time")
    reduced_axes(context, axes, {normalised(chosen[0], len(axes))}, None)


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
    _normalization("LRN", along_axis, Risk.NONE),
    _normalization("MeanVarianceNormalization", mean_variance, Risk.ALWAYS, deviation_normalization),
    _normalization("RMSNormalization", layer_normalization, Risk.EPSILON, plane_normalization),
)


# Operators that take the elements along some axes together, and others that mix one axis.


def _reduction_operators_mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    risk: Risk = Risk.NONE,
    bounds: tuple[float, float] | None = None,
) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS)
    return replace(made, bounds=bounds, values=values)


def _reduction_operators_reduction(name: str, summary: Summary, risk: Risk = Risk.NONE) -> Operator:
    """Elements along some axes taken together."""
    return replace(_reduction_operators_mixing(name, reduce, reduction(summary), risk), demand=reduction_demand)


SOFTMAX = _reduction_operators_mixing("Softmax", softmax, share_values, bounds=(0.0, 1.0))

REDUCE_MEAN = _reduction_operators_reduction("ReduceMean", mean)

REDUCTIONS = (
    SOFTMAX,
    _reduction_operators_mixing("ArgMax", arg_extreme),
    _reduction_operators_mixing("ArgMin", arg_extreme),
    _reduction_operators_mixing("CumSum", along_axis, running_total),
    _reduction_operators_mixing("Hardmax", softmax, share_values, bounds=(0.0, 1.0)),
    _reduction_operators_mixing("LogSoftmax", softmax),
    _reduction_operators_reduction("ReduceL1", norm),
    _reduction_operators_reduction("ReduceL2", norm),
    _reduction_operators_reduction("ReduceLogSum", log_total, Risk.ALWAYS),
    _reduction_operators_mixing("ReduceLogSumExp", reduce),
    _reduction_operators_reduction("ReduceMax", largest),
    REDUCE_MEAN,
    _reduction_operators_reduction("ReduceMin", largest),
    _reduction_operators_reduction("ReduceProd", product, Risk.ALWAYS),
    _reduction_operators_reduction("ReduceSum", total),
    _reduction_operators_reduction("ReduceSumSquare", norm),
    _reduction_operators_mixing("TopK", top_k, picked_values),
)


# TensorFlow Lite's operators that take the elements along some axes together, or mix an axis.


FIXED_POINT = 1.0
"""How far a kernel in fixed-point numbers may be from the function, in steps of the result."""
AS_REDUCE = called("ReduceMean", keepdims="keep_dims")


def _tflite_mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    demand: DemandRule | NotFollowed = READS_ALL,
) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.EITHER, domain=TFLITE, new_lane=ZEROS)
    return replace(made, values=values, demand=demand)


def _tflite_reduction(name: str, summary: Summary, *, copies: bool = False) -> Operator:
    """Elements along the axes that input 1 lists."""
    rule = through_scales(reduction(summary), AS_REDUCE, error=FIXED_POINT, copies=copies)
    return _tflite_mixing(name, tflite_reduce, rule, reduction_demand)


TFLITE_REDUCTIONS = (
    _tflite_reduction("MEAN", mean),
    _tflite_reduction("SUM", total),
    _tflite_reduction("REDUCE_MAX", largest, copies=True),
    _tflite_reduction("REDUCE_MIN", largest, copies=True),
    _tflite_mixing("REDUCE_ALL", tflite_reduce),
    _tflite_mixing("REDUCE_ANY", tflite_reduce),
    _tflite_mixing("REDUCE_PROD", tflite_reduce),
    _tflite_mixing("ARG_MAX", tflite_arg_extreme),
    _tflite_mixing("ARG_MIN", tflite_arg_extreme),
    _tflite_mixing("SOFTMAX", along_last),
    _tflite_mixing("LOG_SOFTMAX", along_last),
    _tflite_mixing("L2_NORMALIZATION", along_last),
    _tflite_mixing("CUMSUM", cumsum),
)
