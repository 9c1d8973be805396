"""Convolutions of the default domain."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import BY_WEIGHTS, Operator, TieRule, alias
from onnxlint_cmsis.operators.roles import Form, Quantized, Roles, Sums
from onnxlint_cmsis.operators.ties import convolution_ties as ties
from onnxlint_cmsis.operators.values.layer_sums import layer_values


def _convolution(name: str, axes: TieRule, roles: Roles) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, roles=roles, new_lane=ZEROS)
    return replace(made, values=layer_values, demand=BY_WEIGHTS)


CONV = _convolution("Conv", ties.conv, Roles(weights=(1,), form=Form.CONVOLUTION, sums=Sums.FLOAT, bias=2))
CONV_TRANSPOSE = _convolution(
    "ConvTranspose", ties.conv_transpose, Roles(weights=(1,), form=Form.TRANSPOSED, sums=Sums.FLOAT, bias=2)
)
CONV_INTEGER = _convolution(
    "ConvInteger",
    ties.conv_integer,
    Roles(
        weights=(1,),
        form=Form.CONVOLUTION,
        sums=Sums.INTEGERS,
        quantized=(Quantized(0, -1, 2), Quantized(1, -1, 3)),
    ),
)
QLINEAR_CONV = replace(
    alias("QLinearConv", "", CONV),
    axes=ties.qlinear_conv,
    roles=Roles(
        weights=(3,),
        form=Form.CONVOLUTION,
        sums=Sums.INTEGERS,
        bias=8,
        quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)),
    ),
)

CONVOLUTIONS = (CONV, CONV_TRANSPOSE, CONV_INTEGER, QLINEAR_CONV)
