"""Operators of domain com.microsoft: ONNX Runtime's fused and quantized forms.

Source of all positions: ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Form, Quantized, Roles, Sums
from onnxlint_cmsis.operators import curve_values
from onnxlint_cmsis.operators.answers import NotFollowed, Risk
from onnxlint_cmsis.operators.convolution import CONV
from onnxlint_cmsis.operators.curve import GELU, LEAKY_RELU, SIGMOID
from onnxlint_cmsis.operators.elementwise_ties import broadcast_inputs
from onnxlint_cmsis.operators.joined_values import quantized_concat
from onnxlint_cmsis.operators.mixing import SOFTMAX
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.pair_values import biased_gelu
from onnxlint_cmsis.operators.pairwise import ADD, MUL, WHERE
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, GLOBAL_AVERAGE_POOL
from onnxlint_cmsis.operators.product import GEMM, MATMUL
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.record import COMPUTES, MICROSOFT, NO_SHAPE_ARITHMETIC, OPAQUE, Operator, alias, replace
from onnxlint_cmsis.operators.scale_values import quantized_curve, quantized_pair
from onnxlint_cmsis.operators.slicing import CONCAT
from onnxlint_cmsis.operators.summaries import quantized_pool
from onnxlint_cmsis.operators.views import ValueRule


def broadcast_data(node: Node, context: Context) -> None:
    """Data inputs, each with scale and zero-point behind it, with broadcasting."""
    broadcast_inputs(context, tuple(context.roles.data_of(node)))


def qlinear_softmax(node: Node, context: Context) -> None:
    """Lock all axes: the opset in an attribute decides which ones are mixed."""
    axes = context.need(0)
    context.output_as(0, axes)
    context.pin_all(axes, f"{node.op_type} mixes this axis")


def bias_gelu(_node: Node, context: Context) -> None:
    """Activation of the sum of two inputs."""
    broadcast_inputs(context, (0, 1))


ONE_OPERAND = Roles(quantized=(Quantized(0, 1, 2), Quantized(-1, 3, 4)))
"""X, its scale, its zero-point; scale and zero-point of the result."""


TWO_OPERANDS = Roles(data=(0, 3), quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)))
"""A and B, each with scale and zero-point; scale and zero-point of the result."""


BOTH = (0, 3)


CHOICE = Roles(data=(0, 1, 4), quantized=(Quantized(1, 2, 3), Quantized(4, 5, 6), Quantized(-1, 7, 8)))
"""Condition; X and Y, each with scale and zero-point; scale and zero-point of the result."""


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


INTEGER_MATMUL = MATMUL.roles._replace(sums=Sums.INTEGERS, quantized=(Quantized(0, -1, 2), Quantized(1, -1, 3)))


QUANTIZED_MATMUL = TWO_OPERANDS._replace(weights=(3, 0), form=Form.MATMUL, sums=Sums.INTEGERS)


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
    operator = replace(_fused(name, of), axes=broadcast_data, roles=TWO_OPERANDS, risk=Risk.NONE)
    return replace(operator, values=quantized_pair(of.name), sizes=COMPUTES)


QUANTIZED_CONV = CONV.roles._replace(
    weights=(3,),
    sums=Sums.INTEGERS,
    bias=8,
    quantized=(Quantized(0, 1, 2), Quantized(3, 4, 5), Quantized(-1, 6, 7)),
)


INTEGER_CONV = CONV.roles._replace(sums=Sums.INTEGERS, bias=-1, quantized=(Quantized(0, -1, 2), Quantized(1, -1, 3)))


OTHER_GELU = replace(_fused("", GELU), own_numbers=True)


NAMES = (
    alias("ConvInteger", "", CONV, roles=INTEGER_CONV),
    alias("QLinearConv", "", CONV, roles=QUANTIZED_CONV),
    alias("MatMulInteger", "", MATMUL, roles=INTEGER_MATMUL),
    alias("QLinearMatMul", "", MATMUL, roles=QUANTIZED_MATMUL),
    replace(_fused("FusedConv", CONV), roles=CONV.roles._replace(summand=3), epilogue="activation"),
    replace(_fused("FusedGemm", GEMM), epilogue="activation"),
    _fused("FusedMatMul", MATMUL),
    replace(_fused("QLinearConv", CONV), roles=QUANTIZED_CONV),
    replace(_fused("QGemm", GEMM), roles=QGEMM),
    replace(_fused("DynamicQuantizeMatMul", MATMUL), roles=DYNAMIC),
    replace(_fused("MatMulIntegerToFloat", MATMUL), roles=SCALED),
    _quantized_pair("QLinearAdd", ADD),
    replace(_quantized_pair("QLinearMul", MUL), zero=BOTH),
    replace(_fused("QLinearWhere", WHERE), axes=broadcast_data, roles=CHOICE, risk=Risk.NONE, values=OPAQUE),
    _on_integers("QLinearLeakyRelu", LEAKY_RELU, quantized_curve(curve_values.LEAKY_RELU)),
    _on_integers("QLinearSigmoid", SIGMOID, quantized_curve(curve_values.SIGMOID)),
    replace(
        _fused("QLinearConcat", CONCAT),
        roles=PARTS,
        new_lane=ZEROS,
        sizes=COMPUTES,
        values=quantized_concat,
    ),
    _on_integers("QLinearAveragePool", AVERAGE_POOL, quantized_pool),
    _on_integers("QLinearGlobalAveragePool", GLOBAL_AVERAGE_POOL, quantized_pool),
    replace(_on_integers("QLinearSoftmax", SOFTMAX, OPAQUE), axes=qlinear_softmax),
    _fused("DequantizeLinear", DEQUANTIZE_LINEAR),
    _fused("QuantizeLinear", QUANTIZE_LINEAR),
    _fused("Gelu", GELU),
    replace(OTHER_GELU, name="QuickGelu", values=curve_values.CurveValues(curve_values.QUICK_GELU)),
    replace(OTHER_GELU, name="BiasGelu", axes=bias_gelu, roles=Roles(data=(0, 1)), zero=(), values=biased_gelu),
    replace(OTHER_GELU, name="FastGelu", axes=bias_gelu, roles=Roles(bias=1), zero=(), values=biased_gelu),
)
