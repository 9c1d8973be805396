"""Tie rules of domain com.microsoft: ONNX Runtime's fused and quantized operators."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Context, NotFollowedError
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.convolution_ties import convolution, qlinear_conv
from onnxlint_cmsis.operators.ties.elementwise_ties import broadcast_inputs, per_channel, same_as
from onnxlint_cmsis.operators.ties.mixing_ties import pool
from onnxlint_cmsis.operators.ties.product_ties import gemm, matmul
from onnxlint_cmsis.operators.ties.slicing_ties import join


def fused_conv(_node: Node, context: Context) -> None:
    """Convolution, then an optional sum of the same shape (input 3), then an activation."""
    convolution(context, 0, 1, (2,))
    if context.has(3):
        same_as(context, 0, context.need(3))


def channels_first_conv(node: Node, context: Context) -> None:
    """QLinearConv as ONNX has it, unless the channels are last."""
    if node.int("channels_last"):
        raise NotFollowedError("QLinearConv with channels last is not followed")
    qlinear_conv(node, context)


def fused_matmul(node: Node, context: Context) -> None:
    """MatMul of operands whose last two axes may be swapped."""
    if node.int("transBatchA") or node.int("transBatchB"):
        raise NotFollowedError("FusedMatMul that moves a batch axis is not followed")
    matmul(context, 0, 1, (bool(node.int("transA")), bool(node.int("transB"))))


def qgemm(_node: Node, context: Context) -> None:
    """A, scale, zero-point, B, scale, zero-point, C, scale, zero-point: B's and C may be per column."""
    columns = gemm(context, 0, 3, 6)
    for position in (4, 5):
        per_channel(context, position, columns)


def qlinear_binary(_node: Node, context: Context) -> None:
    """A, scale, zero-point, B, scale, zero-point, with broadcasting."""
    broadcast_inputs(context, (0, 3))


def qlinear_where(_node: Node, context: Context) -> None:
    """Condition, then X, scale, zero-point, Y, scale, zero-point, with broadcasting."""
    broadcast_inputs(context, (0, 1, 4))


def qlinear_concat(node: Node, context: Context) -> None:
    """Output scale and zero-point, then tensor, scale, zero-point for each operand."""
    join(context, [context.need(position) for position in range(2, len(node.inputs), 3)], node.int("axis", 1))


def qlinear_pool(node: Node, context: Context) -> None:
    """Pooling with channels first."""
    if node.int("channels_last"):
        raise NotFollowedError(f"{node.op_type} with channels last is not followed")
    pool(node, context)


def qlinear_softmax(node: Node, context: Context) -> None:
    """Lock all axes: the opset in an attribute decides which ones are mixed."""
    axes = context.need(0)
    same_as(context, 0, axes)
    context.pin_all(axes, f"{node.op_type} mixes this axis")


def dynamic_quantize_matmul(_node: Node, context: Context) -> None:
    """A in float, B, its scale, its zero-point, bias; A's range is taken over all lanes."""
    columns = matmul(context, 0, 1)[1]
    for position in (2, 3, 4):
        if columns is not None:
            per_channel(context, position, columns)
    context.pin_all(
        context.need(0), "the quantization range is taken over all lanes, and a filled one need not be zero"
    )


def matmul_integer_to_float(_node: Node, context: Context) -> None:
    """A, B, scales, zero-points, bias."""
    rows, columns = matmul(context, 0, 1)
    for axis, positions in ((rows, (2, 4)), (columns, (3, 5, 6))):
        for position in positions:
            if axis is not None:
                per_channel(context, position, axis)


def bias_gelu(_node: Node, context: Context) -> None:
    """Activation of the sum of two inputs."""
    broadcast_inputs(context, (0, 1))
