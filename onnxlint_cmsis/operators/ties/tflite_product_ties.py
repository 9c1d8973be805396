"""Tie rules of TensorFlow Lite's dense layers and matrix products."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.convolution_ties import note_layer
from onnxlint_cmsis.operators.ties.elementwise_ties import per_channel
from onnxlint_cmsis.operators.ties.product_ties import matmul
from onnxlint_cmsis.operators.ties.shaping_ties import regroup


def fully_connected(node: Node, context: Context) -> None:
    """Weights [N, K] against the last axis of the data, or against data that is taken as rows of K."""
    axes, kernel = context.need(0), context.need(1)
    if len(kernel) != 2 or not axes:
        raise NotFollowedError(f"ranks {len(axes)} and {len(kernel)} where weights of rank 2 are allowed")
    if node.text("weights_format", "DEFAULT") != "DEFAULT":
        raise NotFollowedError("weights in a shuffled order")
    rows, columns = kernel
    note_layer(context, 1, [rows], [columns])
    per_channel(context, 2, rows)
    result = context.axes_of(node.outputs[0])
    if result is None or not result:
        raise NotFollowedError("the rank of the result is not known")
    context.tie(result[-1], rows)
    _rows(context, axes, columns, result[:-1])


def _rows(context: Context, axes: Axes, columns: Dimension, outer: Axes) -> None:
    """Tie the data to the weights' columns, and what is in front to the front of the result."""
    if context.size(axes[-1]) == context.size(columns):
        context.tie(axes[-1], columns)
        regroup(context, axes[:-1], outer)
    else:
        regroup(context, axes, (*outer, columns))


def batch_matmul(node: Node, context: Context) -> None:
    """A matrix product of two tensors, each with its last two axes swapped where the options say so."""
    matmul(context, 0, 1, (bool(node.int("adj_x")), bool(node.int("adj_y"))))
