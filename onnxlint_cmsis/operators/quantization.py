"""Operators from real numbers to steps of a scale and back: how they tie axes, and their records."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Quantized, Roles
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.demands import elementwise_demand
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.regroup_ties import normalised
from onnxlint_cmsis.operators.scale_values import dequantize_values, quantize_values


def quantize(node: Node, context: Context) -> None:
    """QuantizeLinear and DequantizeLinear: per tensor, per axis, or in blocks along an axis."""
    axes = context.need(0)
    for position in (1, 2):
        if context.has(position):
            parameter_axes(node, context, axes, context.need(position))
    context.output_as(0, axes)


def parameter_axes(node: Node, context: Context, axes: Axes, parameter: Axes) -> None:
    """Tie the axes of a scale or zero-point to those of the data it is for."""
    if node.int("block_size") or len(parameter) > 1:
        if len(parameter) != len(axes):
            raise NotFollowedError(f"a scale of rank {len(parameter)} for data of rank {len(axes)}")
        blocked = normalised(node.int("axis", 1), len(axes))
        for position, (axis, other) in enumerate(zip(axes, parameter, strict=True)):
            if position == blocked:
                context.pin_all((axis, other), "quantized in blocks along this axis")
            else:
                context.tie(axis, other)
    elif parameter and context.size(parameter[0]) != 1:
        context.tie(parameter[0], axes[0 if len(axes) == 1 else normalised(node.int("axis", 1), len(axes))])
    elif parameter and len(axes) == 1 and context.size(axes[0]) == 1:
        context.tie(parameter[0], axes[0])


def dynamic_quantize(node: Node, context: Context) -> None:
    """Lock every axis: the range spans all elements, so a new lane that is not zero changes all others."""
    axes = context.need(0)
    context.output_as(0, axes)
    context.pin_all(axes, "the quantization range is taken over all lanes, and a filled one need not be zero")
    for position in range(1, len(node.outputs)):
        context.output(position, [])


QUANTIZE_LINEAR = Operator(
    "QuantizeLinear",
    quantize,
    Elements.QUANTIZED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=ZEROS,
    roles=Roles(quantized=(Quantized(-1, 1, 2),)),
    zero=(0,),
    values=quantize_values,
    demand=elementwise_demand,
)
DEQUANTIZE_LINEAR = Operator(
    "DequantizeLinear",
    quantize,
    Elements.DEQUANTIZED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=ZEROS,
    roles=Roles(quantized=(Quantized(0, 1, 2),)),
    zero=(0,),
    values=dequantize_values,
    demand=elementwise_demand,
)
DYNAMIC_QUANTIZE_LINEAR = Operator(
    "DynamicQuantizeLinear", dynamic_quantize, Elements.MEASURED, Risk.NONE, Layout.EITHER, new_lane=ZEROS, zero=(0,)
)

QUANTIZATION = (QUANTIZE_LINEAR, DEQUANTIZE_LINEAR, DYNAMIC_QUANTIZE_LINEAR)
