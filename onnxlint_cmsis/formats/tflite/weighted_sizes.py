"""Sizes of the results of layers with weights, and of windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnxlint_cmsis.formats.tflite.operand_sizes import NotComputedError, Operands, Shape, broadcast, needs, windows


def image(operands: Operands, shape: Shape, window: Sequence[int], channels: int) -> list[list[int]]:
    """What a window makes of an image."""
    steps = zip(
        shape[1:3],
        window,
        (operands.option("stride_h"), operands.option("stride_w")),
        (operands.node.int("dilation_h_factor", 1), operands.node.int("dilation_w_factor", 1)),
        strict=True,
    )
    return [[shape[0], *(windows(operands, *step) for step in steps), channels]]


def convolution(operands: Operands) -> list[list[int]]:
    """CONV_2D: weights [out_c, h, w, channels of a group]."""
    shape, weights = operands.shape(0, 4), operands.shape(1, 4)
    needs(weights[3] > 0 and shape[3] % weights[3] == 0, "its weights do not fit its channels")
    return image(operands, shape, weights[1:3], weights[0])


def depthwise(operands: Operands) -> list[list[int]]:
    """DEPTHWISE_CONV_2D: weights [1, h, w, out_c]."""
    shape, weights = operands.shape(0, 4), operands.shape(1, 4)
    needs(weights[0] == 1 and shape[3] > 0 and weights[3] % shape[3] == 0, "its weights do not fit its channels")
    return image(operands, shape, weights[1:3], weights[3])


def transposed(operands: Operands) -> list[list[int]]:
    """TRANSPOSE_CONV: input 0 states the result, whose plane has to be one that a convolution takes back."""
    result, weights, shape = operands.numbers(0), operands.shape(1, 4), operands.shape(2, 4)
    needs(len(operands.shape(0)) == 1 and len(result) == 4, "its result is not stated by four numbers")
    needs(weights[3] == shape[3] and weights[0] == result[3], "its weights do not fit its channels")
    back = image(operands, (result[0], *result[1:3], result[3]), weights[1:3], shape[3])
    if back != [[*shape]]:  # LiteRT takes it all the same
        raise NotComputedError(f"a result of {result} does not come from {list(shape)}")
    return [result]


def pool(operands: Operands) -> list[list[int]]:
    """A window over each channel."""
    shape = operands.shape(0, 4)
    return image(operands, shape, (operands.option("filter_height"), operands.option("filter_width")), shape[3])


def dense(operands: Operands) -> list[list[int]]:
    """FULLY_CONNECTED: weights [units, columns]."""
    shape, weights = operands.shape(0), operands.shape(1, 2)
    needs(weights[1] > 0 and prod(shape) % weights[1] == 0, "its weights do not fit its input")
    if operands.option("keep_num_dims"):
        needs(bool(shape) and shape[-1] == weights[1], "its weights do not fit its input")
        return [[*shape[:-1], weights[0]]]
    return [[prod(shape) // weights[1], weights[0]]]


def products(operands: Operands) -> list[list[int]]:
    """BATCH_MATMUL."""
    left, right = operands.shape(0), operands.shape(1)
    needs(min(len(left), len(right)) >= 2, "a factor has fewer than two axes")
    sides = [shape[:-3:-1] if turn else shape[-2:] for shape, turn in
             ((left, operands.option("adj_x")), (right, operands.option("adj_y")))]  # fmt: skip
    needs(sides[0][1] == sides[1][0], "its factors do not fit")
    return [[*broadcast((1, *left[:-2]), (1, *right[:-2]))[1:], sides[0][0], sides[1][1]]]


def svdf(operands: Operands) -> list[list[int]]:
    """SVDF: [batch, units]; weights of features [units * rank, columns]."""
    shape, features, rank = operands.shape(0, 2), operands.shape(1, 2), operands.option("rank")
    needs(rank > 0 and features[0] % rank == 0, "its rank does not fit its weights")
    return [[shape[0], features[0] // rank]]


def recurrent(operands: Operands) -> list[list[int]]:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: the last axis has the size of the output state (recurrent weights, input 6)."""
    shape, weights = operands.shape(0, 3), operands.shape(6, 2)
    return [[*shape[:-1], weights[1]]]


def resized(operands: Operands) -> list[list[int]]:
    """RESIZE_*: input 1 has height and width."""
    shape, plane = operands.shape(0, 4), operands.numbers(1)
    needs(len(plane) == 2, "its result is not stated by two numbers")
    return [[shape[0], *plane, shape[3]]]
