"""Operators of domain com.microsoft: ONNX Runtime's fused and quantized forms."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Context, NotFollowedError
from onnxlint_cmsis.dims.rules import convolutions, elementwise, mixing, products
from onnxlint_cmsis.dims.rules.quantize import quantize
from onnxlint_cmsis.dims.rules.rule import Rule, per_name
from onnxlint_cmsis.dims.rules.slicing import join
from onnxlint_cmsis.graph.model import Node


def fused_conv(_node: Node, context: Context) -> None:
    """Convolution, then an optional sum of the same shape (input 3), then an activation."""
    convolutions.convolution(context, 0, 1, (2,))
    if context.has(3):
        elementwise.same_as(context, 0, context.need(3))


def qlinear_conv(node: Node, context: Context) -> None:
    """As ONNX's, unless the channels are last."""
    if node.int("channels_last"):
        raise NotFollowedError("QLinearConv with channels last is not followed")
    convolutions.convolution(context, 0, 3, (4, 5, 8))


def qgemm(_node: Node, context: Context) -> None:
    """A, scale, zero-point, B, scale, zero-point, C, scale, zero-point: B's and C may be per column."""
    columns = products.gemm(context, 0, 3, 6)
    for position in (4, 5):
        elementwise.per_channel(context, position, columns)


def qlinear_binary(_node: Node, context: Context) -> None:
    """A, scale, zero-point, B, scale, zero-point, with broadcasting."""
    elementwise.broadcast_inputs(context, (0, 3))


def qlinear_concat(node: Node, context: Context) -> None:
    """Output scale and zero-point, then tensor, scale, zero-point for each operand."""
    join(context, [context.need(position) for position in range(2, len(node.inputs), 3)])


def qlinear_pool(node: Node, context: Context) -> None:
    """Pooling with channels first."""
    if node.int("channels_last"):
        raise NotFollowedError(f"{node.op_type} with channels last is not followed")
    mixing.pool(node, context)


def qlinear_softmax(node: Node, context: Context) -> None:
    """Which axes it mixes depends on the opset that an attribute names; all are locked."""
    axes = context.need(0)
    elementwise.same_as(context, 0, axes)
    context.pin_all(axes, f"{node.op_type} mixes this axis")


def dynamic_quantize_matmul(_node: Node, context: Context) -> None:
    """A in float, B, its scale, its zero-point, bias; A's range is taken over all lanes."""
    columns = products.matmul(context, 0, 1)[1]
    for position in (2, 3, 4):
        if columns is not None:
            elementwise.per_channel(context, position, columns)
    context.pin_all(
        context.need(0), "the quantization range is taken over all lanes, and a filled one need not be zero"
    )


def matmul_integer_to_float(_node: Node, context: Context) -> None:
    """A, B, scales, zero-points, bias."""
    rows, columns = products.matmul(context, 0, 1)
    for axis, positions in ((rows, (2, 4)), (columns, (3, 5, 6))):
        for position in positions:
            if axis is not None:
                elementwise.per_channel(context, position, axis)


def bias_gelu(_node: Node, context: Context) -> None:
    """Activation of the sum of two inputs."""
    elementwise.broadcast_inputs(context, (0, 1))


MICROSOFT: dict[str, Rule] = {
    "FusedConv": fused_conv,
    "QLinearConv": qlinear_conv,
    "FusedGemm": products.plain_gemm,
    "QGemm": qgemm,
    **per_name("QLinearAdd QLinearMul", qlinear_binary),
    **per_name("QLinearLeakyRelu QLinearSigmoid", elementwise.unary),
    "QLinearConcat": qlinear_concat,
    **per_name("QLinearAveragePool QLinearGlobalAveragePool", qlinear_pool),
    "QLinearSoftmax": qlinear_softmax,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "MatMulIntegerToFloat": matmul_integer_to_float,
    **per_name("DequantizeLinear QuantizeLinear", quantize),
    **per_name("Gelu FastGelu BiasGelu", bias_gelu),
    "QuickGelu": elementwise.unary,
}
