"""Operators from real numbers to steps of a scale and back."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.roles import Quantized, Roles
from onnxlint_cmsis.operators.ties.quantization_ties import dynamic_quantize, quantize
from onnxlint_cmsis.operators.values.demands import elementwise_demand
from onnxlint_cmsis.operators.values.scaling import dequantize_values, quantize_values

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
