"""Gemm, MatMul and their integer forms."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.elementwise_ties import broadcast_axis, per_channel


def matmul(
    context: Context, left: int, right: int, swapped: tuple[bool, bool] = (False, False)
) -> tuple[Dimension | None, Dimension | None]:
    """Matrix product of two inputs; returns the result's rows and columns, None where an input is a vector.

    With constants on one side, they are the weights. Two run-time inputs mix what they contract. `swapped` tells
    which input has its last two axes swapped first.
    """
    first, second = _swapped(context.need(left), swapped[0]), _swapped(context.need(right), swapped[1])
    if not first or not second:
        raise NotFollowedError("a matrix product of a scalar")
    rows = first[-2] if len(first) > 1 else None
    columns = second[-1] if len(second) > 1 else None
    contracted = first[-1], second[-2] if len(second) > 1 else second[-1]
    context.tie(*contracted)
    if context.is_constant(right):
        context.layer(right, [columns] if columns is not None else [], [contracted[1]])
    elif context.is_constant(left):
        context.layer(left, [rows] if rows is not None else [], [contracted[0]])
    else:
        context.pin(contracted[0], "a product of two run-time tensors sums over this axis")
    batch = _batch(context, first[:-2], second[:-2])
    made = [*batch, *(axis for axis in (rows, columns) if axis is not None)]
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)
    return rows, columns


def _swapped(axes: Axes, swap: bool) -> Axes:
    """Axes with the last two swapped; a vector has only one and stays."""
    return (*axes[:-2], axes[-1], axes[-2]) if swap and len(axes) > 1 else axes


def _batch(context: Context, first: Axes, second: Axes) -> list[Dimension]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    alone = len(longer) - len(shorter)
    return [*longer[:alone], *(broadcast_axis(context, pair) for pair in zip(longer[alone:], shorter, strict=True))]


def gemm(context: Context, left: int, right: int, bias: int | None) -> Dimension:
    """`A' B' + C` with optional transposition of A and B; returns the output columns."""
    first, second = context.need(left), context.need(right)
    if len(first) != 2 or len(second) != 2:
        raise NotFollowedError(f"Gemm of ranks {len(first)} and {len(second)} where 2 is allowed")
    rows, inner = first[::-1] if context.node.int("transA") else first
    depth, columns = second[::-1] if context.node.int("transB") else second
    context.tie(inner, depth)
    if context.is_constant(right):
        context.layer(right, [columns], [depth])
    elif context.is_constant(left):
        context.layer(left, [rows], [inner])
    else:
        context.pin(inner, "a product of two run-time tensors sums over this axis")
    context.tie_all(context.output(0, [context.size(rows), context.size(columns)]), (rows, columns))
    if bias is not None and context.has(bias):
        _gemm_bias(context, context.need(bias), (rows, columns))
    return columns


def _gemm_bias(context: Context, bias: Axes, result: Axes) -> None:
    """C is broadcast to the result, never the other way round."""
    if len(bias) > 2:
        raise NotFollowedError(f"C of Gemm has rank {len(bias)} where at most 2 is allowed")
    if all(context.size(axis) == 1 for axis in bias):
        return
    for axis, target in zip(bias[::-1], result[::-1], strict=False):
        broadcast_axis(context, (target, axis))


def plain_matmul(_node: Node, context: Context) -> None:
    """MatMul."""
    matmul(context, 0, 1)


def matmul_integer(_node: Node, context: Context) -> None:
    """MatMulInteger: zero-points per row of A and per column of B."""
    quantized_matmul(context, 0, 1, (2,), (3,))


def qlinear_matmul(_node: Node, context: Context) -> None:
    """QLinearMatMul: scales and zero-points per row of A and per column of B."""
    quantized_matmul(context, 0, 3, (1, 2), (4, 5))


def quantized_matmul(context: Context, left: int, right: int, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    """Matrix product with numbers per row of A and per column of B."""
    made = matmul(context, left, right)
    for positions, axis in ((rows, made[0]), (columns, made[1])):
        for position in positions:
            if axis is not None:
                per_channel(context, position, axis)


def plain_gemm(_node: Node, context: Context) -> None:
    """Gemm."""
    gemm(context, 0, 1, 2)
