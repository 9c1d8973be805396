"""Operators of domain com.microsoft: ONNX Runtime's fused and quantized forms.

Source of all positions: ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from onnxlint_cmsis.operators.convolution_operators import CONV, QLINEAR_CONV
from onnxlint_cmsis.operators.curve_operators import GELU, LEAKY_RELU, SIGMOID
from onnxlint_cmsis.operators.facets import Risk
from onnxlint_cmsis.operators.pairwise_operators import ADD, MUL
from onnxlint_cmsis.operators.pooling_operators import AVERAGE_POOL, GLOBAL_AVERAGE_POOL
from onnxlint_cmsis.operators.product_operators import GEMM, MATMUL
from onnxlint_cmsis.operators.quantization_operators import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.record import COMPUTES, MICROSOFT, OPAQUE, Operator, alias
from onnxlint_cmsis.operators.reduction_operators import SOFTMAX
from onnxlint_cmsis.operators.roles import Form, Quantized, Roles, Sums
from onnxlint_cmsis.operators.slicing_operators import CONCAT
from onnxlint_cmsis.operators.ties import microsoft_ties as ties
from onnxlint_cmsis.operators.values.broadcasts import biased_gelu
from onnxlint_cmsis.operators.values.joins import quantized_concat
from onnxlint_cmsis.operators.values.planes import quantized_pool
from onnxlint_cmsis.operators.values.scaling import quantized_curve, quantized_pair

ONE_OPERAND = Roles(quantized=(Quantized(0, 1, 2), Quantized(-1, 3, 4)))
"""X, its scale, its zero-point; scale and zero-point of the result."""
TWO_OPERANDS = Roles(data=(0, 3), quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)))
"""A and B, each with scale and zero-point; scale and zero-point of the result."""
BOTH = (0, 3)
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


def _fused(name: str, of: Operator, **differences: object) -> Operator:
    return alias(name, MICROSOFT, of, **{"fold": None, **differences})


def _quantized_pair(name: str, of: Operator, **differences: object) -> Operator:
    values = quantized_pair(of.name)
    return _fused(name, of, axes=ties.qlinear_binary, roles=TWO_OPERANDS, risk=Risk.NONE, values=values, **differences)


MICROSOFT_OPERATORS = (
    _fused("FusedConv", CONV, axes=ties.fused_conv, roles=CONV.roles._replace(summand=3), epilogue="activation"),
    _fused("FusedGemm", GEMM, epilogue="activation"),
    _fused("FusedMatMul", MATMUL, axes=ties.fused_matmul),
    _fused("QLinearConv", QLINEAR_CONV, axes=ties.channels_first_conv),
    _fused("QGemm", GEMM, axes=ties.qgemm, roles=QGEMM),
    _fused("DynamicQuantizeMatMul", MATMUL, axes=ties.dynamic_quantize_matmul, roles=DYNAMIC),
    _fused("MatMulIntegerToFloat", MATMUL, axes=ties.matmul_integer_to_float, roles=SCALED),
    _quantized_pair("QLinearAdd", ADD),
    _quantized_pair("QLinearMul", MUL, zero=BOTH, sizes=COMPUTES),
    _fused("QLinearLeakyRelu", LEAKY_RELU, roles=ONE_OPERAND, values=quantized_curve("LeakyRelu")),
    _fused("QLinearSigmoid", SIGMOID, roles=ONE_OPERAND, bounds=None, values=quantized_curve("Sigmoid")),
    _fused("QLinearConcat", CONCAT, axes=ties.qlinear_concat, roles=PARTS, sizes=COMPUTES, values=quantized_concat),
    _fused("QLinearAveragePool", AVERAGE_POOL, axes=ties.qlinear_pool, roles=ONE_OPERAND, values=quantized_pool),
    _fused(
        "QLinearGlobalAveragePool",
        GLOBAL_AVERAGE_POOL,
        axes=ties.qlinear_pool,
        roles=ONE_OPERAND,
        values=quantized_pool,
    ),
    _fused("QLinearSoftmax", SOFTMAX, axes=ties.qlinear_softmax, roles=ONE_OPERAND, bounds=None, values=OPAQUE),
    _fused("DequantizeLinear", DEQUANTIZE_LINEAR),
    _fused("QuantizeLinear", QUANTIZE_LINEAR),
    _fused("Gelu", GELU),
    _fused("QuickGelu", GELU),
    _fused("BiasGelu", GELU, axes=ties.bias_gelu, roles=Roles(data=(0, 1)), zero=(), values=biased_gelu),
    _fused("FastGelu", GELU, axes=ties.bias_gelu, roles=Roles(bias=1), zero=(), values=biased_gelu),
)
