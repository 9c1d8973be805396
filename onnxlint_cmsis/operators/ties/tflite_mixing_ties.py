"""Tie rules of TensorFlow Lite's operators that mix or count the elements of an axis."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Context, NotFollowedError
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.elementwise_ties import same_as
from onnxlint_cmsis.operators.ties.mixing_ties import reduced_axes
from onnxlint_cmsis.operators.ties.shaping_ties import normalised


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


def reduce(node: Node, context: Context) -> None:
    """MEAN, SUM, REDUCE_MAX and their like: the axes that input 1 lists."""
    axes, listed = context.need(0), context.ints(1)
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    reduced_axes(context, axes, {normalised(axis, len(axes)) for axis in listed}, 1 if node.int("keep_dims") else None)


def arg_extreme(_node: Node, context: Context) -> None:
    """ARG_MAX, ARG_MIN: positions along the axis that input 1 names."""
    axes, chosen = context.need(0), context.ints(1)
    if chosen is None or len(chosen) != 1:
        raise NotFollowedError("the axis to look along is computed at run time")
    reduced_axes(context, axes, {normalised(chosen[0], len(axes))}, None)
