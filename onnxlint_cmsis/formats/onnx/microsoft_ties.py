"""Tie rules of domain com.microsoft: ONNX Runtime's fused and quantized operators."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.operators.elementwise_ties import broadcast_inputs


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
