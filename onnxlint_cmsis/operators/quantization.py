"""Operators between real numbers and integers."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Quantized, Roles
from onnxlint_cmsis.operators.arithmetic import dequantize_values, elementwise_demand, quantize_values
from onnxlint_cmsis.operators.common_ties import broadcast, normalised
from onnxlint_cmsis.operators.record import NO_NEW_LANES, ZEROS, Elements, Layout, NotFollowed, Operator, Risk, alias

# Tie rules of quantization: scales and zero-points per axis belong to the axis.


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


# Operators from real numbers to steps of a scale and back.


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


# Operators that PACT quantization exports: domain PACTOps, or the default domain in models prepared for Deeploy.


DOMAIN = "PACTOps"

REQUANT_SHIFT = Operator("RequantShift", broadcast, Elements.REQUANTIZED, Risk.NONE, Layout.EITHER, new_lane=ZEROS)
"""RequantShift(x, mul, add) is `clip(floor((x * mul + add) / div))` element by element, broadcast as torch does.

Source: quantlib (pulp-platform), `RequantShift.forward` and `symbolic` of the PACT operators.
"""

NO_DEFINITION = NotFollowed("no published definition says which channels it mixes")


def _declined(name: str) -> Operator:
    """An operator of which the models that use it state the shapes, and nothing else is known."""
    return Operator(name, NO_DEFINITION, Elements.COMPUTED, Risk.ALWAYS, Layout.EITHER, new_lane=NO_NEW_LANES)


SHAPE_KEEPING = tuple(map(_declined, ("iGELU", "iSoftmax", "iLayerNorm", "IntegerDiv")))
"""Operators whose result has the shape of the first input."""
INTEGER_MEAN = _declined("IntegerMean")
"""A mean over the axes of its attribute."""

DEFAULT = (REQUANT_SHIFT, *SHAPE_KEEPING, INTEGER_MEAN)
PACT = (*DEFAULT, *(alias(operator.name, DOMAIN, operator) for operator in DEFAULT))
