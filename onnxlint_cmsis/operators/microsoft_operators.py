"""Operators of domain com.microsoft: ONNX Runtime's fused and quantized forms.

Source of all positions: ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.convolution_operators import CONV, QLINEAR_CONV
from onnxlint_cmsis.operators.curve_operators import GELU, LEAKY_RELU, SIGMOID
from onnxlint_cmsis.operators.facets import NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.pairwise_operators import ADD, MUL, WHERE
from onnxlint_cmsis.operators.pooling_operators import AVERAGE_POOL, GLOBAL_AVERAGE_POOL
from onnxlint_cmsis.operators.product_operators import GEMM, MATMUL
from onnxlint_cmsis.operators.quantization_operators import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.record import COMPUTES, MICROSOFT, NO_SHAPE_ARITHMETIC, OPAQUE, Operator, alias
from onnxlint_cmsis.operators.reduction_operators import SOFTMAX
from onnxlint_cmsis.operators.roles import Form, Quantized, Roles, Sums
from onnxlint_cmsis.operators.slicing_operators import CONCAT
from onnxlint_cmsis.operators.ties import microsoft_ties as ties
from onnxlint_cmsis.operators.values import curves
from onnxlint_cmsis.operators.values.broadcasts import biased_gelu
from onnxlint_cmsis.operators.values.joins import quantized_concat
from onnxlint_cmsis.operators.values.planes import quantized_pool
from onnxlint_cmsis.operators.values.scaling import quantized_curve, quantized_pair
from onnxlint_cmsis.operators.values.value_view import ValueRule

ONE_OPERAND = Roles(quantized=(Quantized(0, 1, 2), Quantized(-1, 3, 4)))
"""X, its scale, its zero-point; scale and zero-point of the result."""
TWO_OPERANDS = Roles(data=(0, 3), quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)))
"""A and B, each with scale and zero-point; scale and zero-point of the result."""
BOTH = (0, 3)
CHOICE = Roles(data=(0, 1, 4), quantized=(Quantized(1, 2, 3), Quantized(4, 5, 6), Quantized(-1, 7, 8)))
"""Condition; X and Y, each with scale and zero-point; scale and zero-point of the result."""
FUSED_CONV = CONV.roles._replace(summand=3)
PARTS = Roles(data=(2,), step=3, quantized=(Quantized(-1, 0, 1), Quantized(2, 3, 4)))
"""Scale and zero-point of the result; then tensor, scale, zero-point of each operand."""
QGEMM = Roles(
    data=(0, 3),
    weights=(3, 0),
    form=Form.GEMM,
    sums=Sums.INTEGERS,
    bias=6,
    quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 7, 8)),
)
DYNAMIC = Roles(weights=(1,), form=Form.MATMUL, sums=Sums.SCALED, bias=4, quantized=(Quantized(1, 2, 3),))
SCALED = Roles(
    data=(0, 1),
    weights=(1, 0),
    form=Form.MATMUL,
    sums=Sums.SCALED,
    bias=6,
    quantized=(Quantized(0, 2, 4), Quantized(1, 3, 5)),
)


def _fused(name: str, of: Operator) -> Operator:
    return replace(alias(name, MICROSOFT, of), fold=NO_SHAPE_ARITHMETIC)


def _on_integers(name: str, of: Operator, values: ValueRule | NotFollowed) -> Operator:
    """A function of one quantized tensor."""
    return replace(_fused(name, of), roles=ONE_OPERAND, bounds=None, values=values)


def _quantized_pair(name: str, of: Operator) -> Operator:
    made = replace(_fused(name, of), axes=ties.qlinear_binary, roles=TWO_OPERANDS, risk=Risk.NONE)
    return replace(made, values=quantized_pair(of.name), sizes=COMPUTES)


MICROSOFT_OPERATORS = (
    replace(_fused("FusedConv", CONV), axes=ties.fused_conv, roles=FUSED_CONV, epilogue="activation"),
    replace(_fused("FusedGemm", GEMM), epilogue="activation"),
    replace(_fused("FusedMatMul", MATMUL), axes=ties.fused_matmul),
    replace(_fused("QLinearConv", QLINEAR_CONV), axes=ties.channels_first_conv),
    replace(_fused("QGemm", GEMM), axes=ties.qgemm, roles=QGEMM),
    replace(_fused("DynamicQuantizeMatMul", MATMUL), axes=ties.dynamic_quantize_matmul, roles=DYNAMIC),
    replace(_fused("MatMulIntegerToFloat", MATMUL), axes=ties.matmul_integer_to_float, roles=SCALED),
    _quantized_pair("QLinearAdd", ADD),
    replace(_quantized_pair("QLinearMul", MUL), zero=BOTH),
    replace(_fused("QLinearWhere", WHERE), axes=ties.qlinear_where, roles=CHOICE, risk=Risk.NONE, values=OPAQUE),
    _on_integers("QLinearLeakyRelu", LEAKY_RELU, quantized_curve(curves.LEAKY_RELU)),
    _on_integers("QLinearSigmoid", SIGMOID, quantized_curve(curves.SIGMOID)),
    replace(
        _fused("QLinearConcat", CONCAT),
        axes=ties.qlinear_concat,
        roles=PARTS,
        new_lane=ZEROS,
        sizes=COMPUTES,
        values=quantized_concat,
    ),
    replace(_on_integers("QLinearAveragePool", AVERAGE_POOL, quantized_pool), axes=ties.qlinear_pool),
    replace(_on_integers("QLinearGlobalAveragePool", GLOBAL_AVERAGE_POOL, quantized_pool), axes=ties.qlinear_pool),
    replace(_on_integers("QLinearSoftmax", SOFTMAX, OPAQUE), axes=ties.qlinear_softmax),
    _fused("DequantizeLinear", DEQUANTIZE_LINEAR),
    _fused("QuantizeLinear", QUANTIZE_LINEAR),
    _fused("Gelu", GELU),
    replace(_fused("QuickGelu", GELU), values=curves.CurveValues(curves.QUICK_GELU)),
    replace(_fused("BiasGelu", GELU), axes=ties.bias_gelu, roles=Roles(data=(0, 1)), zero=(), values=biased_gelu),
    replace(_fused("FastGelu", GELU), axes=ties.bias_gelu, roles=Roles(bias=1), zero=(), values=biased_gelu),
)
