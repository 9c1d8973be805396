"""Matrix products: how they tie axes, and their records."""

from __future__ import annotations

from typing import TypeVar

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.convolution import note_layer
from onnxlint_cmsis.operators.elementwise_ties import broadcast_axis, per_channel
from onnxlint_cmsis.operators.layer_values import layer_values
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import BY_WEIGHTS, Operator, TieRule, replace
from onnxlint_cmsis.operators.regroup_ties import regroup

T = TypeVar("T")


def matmul(node: Node, context: Context) -> None:
    """Matrix product of two inputs, of which either may have its last two axes swapped first.

    With constants on one side, they are the weights. Two run-time inputs mix what they contract.
    """
    if node.int("transBatchA") or node.int("transBatchB"):
        raise NotFollowedError(f"{node.op_type} that moves a batch axis is not followed")
    roles = context.roles
    left, right = roles.data[0], roles.second
    swaps = (bool(node.int(roles.stated(name).attribute)) for name in ("transA", "transB"))
    first, second = (swapped(context.need(side), swap) for side, swap in zip((left, right), swaps, strict=True))
    if not first or not second:
        raise NotFollowedError("a matrix product of a scalar")
    rows = first[-2] if len(first) > 1 else None
    columns = second[-1] if len(second) > 1 else None
    contracted = first[-1], second[-2] if len(second) > 1 else second[-1]
    context.tie(*contracted)
    _note_factors(context, (left, right), (rows, columns), contracted)
    longer, shorter = sorted((first[:-2], second[:-2]), key=len, reverse=True)
    alone = len(longer) - len(shorter)
    shared = [broadcast_axis(context, pair) for pair in zip(longer[alone:], shorter, strict=True)]
    context.output_as(0, [*longer[:alone], *shared, *(axis for axis in (rows, columns) if axis is not None)])
    of_rows, of_columns = roles.parameters(left), roles.parameters(right)
    for axis, positions in ((rows, of_rows), (columns, [*of_columns, roles.bias])):
        for position in positions:
            if axis is not None:
                per_channel(context, position, axis)
    if roles.sums is Sums.SCALED and not of_rows:
        reason = "the quantization range is taken over all lanes, and a filled one need not be zero"
        context.pin_all(context.need(left), reason)


def _note_factors(
    context: Context, factors: tuple[int, int], kept: tuple[Dimension | None, ...], contracted: tuple[Dimension, ...]
) -> None:
    """Note the factor that holds weights, the right one first; what two run-time factors contract is locked."""
    for side in (1, 0):
        decides = kept[side]
        if context.is_constant(factors[side]):
            context.layer(factors[side], [] if decides is None else [decides], [contracted[side]])
            return
    context.pin(contracted[0], "a product of two run-time tensors sums over this axis")


def swapped(axes: tuple[T, ...], swap: bool | int) -> tuple[T, ...]:
    """Axes, or their sizes, with the last two swapped; a vector has only one and stays."""
    return (*axes[:-2], axes[-1], axes[-2]) if swap and len(axes) > 1 else axes


def gemm(node: Node, context: Context) -> None:
    """`A' B' + C` with optional transposition of A and B."""
    roles = context.roles
    left, right = roles.data[0], roles.second
    first, second = context.need(left), context.need(right)
    if len(first) != 2 or len(second) != 2:
        raise NotFollowedError(f"Gemm of ranks {len(first)} and {len(second)} where 2 is allowed")
    rows, inner = first[::-1] if node.int("transA") else first
    depth, columns = second[::-1] if node.int("transB") else second
    context.tie(inner, depth)
    _note_factors(context, (left, right), (rows, columns), (inner, depth))
    context.output_as(0, (rows, columns))
    if context.has(roles.bias):
        _gemm_bias(context, context.need(roles.bias), (rows, columns))
    for position in roles.parameters(right):
        per_channel(context, position, columns)


def _gemm_bias(context: Context, bias: Axes, result: Axes) -> None:
    """C is broadcast to the result, never the other way round."""
    if len(bias) > 2:
        raise NotFollowedError(f"C of Gemm has rank {len(bias)} where at most 2 is allowed")
    if all(context.size(axis) == 1 for axis in bias):
        return
    for axis, target in zip(bias[::-1], result[::-1], strict=False):
        broadcast_axis(context, (target, axis))


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
    outer = result[:-1]
    if context.size(axes[-1]) == context.size(columns):
        context.tie(axes[-1], columns)
        regroup(context, axes[:-1], outer)
    else:
        regroup(context, axes, (*outer, columns))


def _product(name: str, axes: TieRule, roles: Roles) -> Operator:
    product = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, roles=roles, new_lane=ZEROS)
    return replace(product, values=layer_values, demand=BY_WEIGHTS)


FACTORS = Roles(data=(0, 1), weights=(1, 0), form=Form.MATMUL, sums=Sums.FLOAT)
"""Two factors in float, of which either may be constant."""

GEMM = _product("Gemm", gemm, Roles(data=(0, 1), weights=(1, 0), form=Form.GEMM, sums=Sums.FLOAT, bias=2))
MATMUL = _product("MatMul", matmul, FACTORS)

PRODUCTS = (GEMM, MATMUL)
