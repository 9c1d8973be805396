"""Random int8 and int16 `.tflite` models: layers with dead rows and columns, joined in many ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.tflite_chains import Chain

ACTIVATIONS = ("NONE", "RELU", "RELU6")


def plane(size: int, kernel: int, stride: int, padding: str) -> int:
    """Rows or columns that a window leaves."""
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def conv(chain: Chain, data: int) -> int:
    """A convolution to a random number of channels."""
    batch, height, width, channels = chain.shape(data)
    kernel = chain.pick((1, 1, 3)) if min(height, width) > 2 else 1
    stride, padding, rows = chain.pick((1, 1, 2)), chain.pick(("SAME", "VALID")), int(chain.rng.integers(3, 9))
    scales = chain.scales(rows)
    weights = chain.constant(chain.weights([rows, kernel, kernel, channels], 0, 3), scales)
    size = [plane(size_before, kernel, stride, padding) for size_before in (height, width)]
    options = {"padding": padding, "stride_w": stride, "stride_h": stride}
    options["fused_activation_function"] = chain.pick(ACTIVATIONS)
    output = chain.activation([batch, *size, rows])
    return chain.add("CONV_2D", [data, weights, chain.bias(data, scales)], output, ("Conv2DOptions", options))


def depthwise(chain: Chain, data: int) -> int:
    """A depthwise convolution with a multiplier of 1 or 2."""
    batch, height, width, channels = chain.shape(data)
    kernel = 3 if min(height, width) > 2 else 1
    multiplier, padding = chain.pick((1, 1, 2)), chain.pick(("SAME", "VALID"))
    rows = channels * multiplier
    scales = chain.scales(rows)
    weights = chain.constant(chain.weights([1, kernel, kernel, rows], 3, None), scales, [0] * rows, 3)
    size = [plane(size_before, kernel, 1, padding) for size_before in (height, width)]
    options = {"padding": padding, "stride_w": 1, "stride_h": 1, "depth_multiplier": multiplier}
    options["fused_activation_function"] = chain.pick(ACTIVATIONS)
    output = chain.activation([batch, *size, rows])
    inputs = [data, weights, chain.bias(data, scales)]
    return chain.add("DEPTHWISE_CONV_2D", inputs, output, ("DepthwiseConv2DOptions", options))


def pool(chain: Chain, data: int) -> int:
    """A pool of 2 by 2, average or maximum."""
    batch, height, width, channels = chain.shape(data)
    if min(height, width) < 2:
        return data
    padding = chain.pick(("SAME", "VALID"))
    options = {"padding": padding, "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    size = [plane(size_before, 2, 2, padding) for size_before in (height, width)]
    output = chain.like(data, [batch, *size, channels])
    return chain.add(chain.pick(("AVERAGE_POOL_2D", "MAX_POOL_2D")), [data], output, ("Pool2DOptions", options))


def pointwise(chain: Chain, data: int, output: int) -> int:
    """A 1x1 convolution with a Relu into an activation that is there."""
    rows, channels = chain.shape(output)[3], chain.shape(data)[3]
    scales = chain.scales(rows)
    weights = chain.constant(chain.weights([rows, 1, 1, channels], 0, 3), scales)
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
    return chain.add("CONV_2D", [data, weights, chain.bias(data, scales)], output, ("Conv2DOptions", options))


def residual(chain: Chain, data: int) -> int:
    """A layer of the same channels added to what it reads."""
    output = pointwise(chain, data, chain.activation(chain.shape(data)))
    sums = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    op, table = chain.pick((("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")))
    return chain.add(op, [data, output], chain.activation(chain.shape(data)), (table, sums))


def constant_operand(chain: Chain, data: int) -> int:
    """A constant for each channel added or multiplied."""
    channels = chain.shape(data)[3]
    values = chain.rng.integers(-128, 128, channels).astype(np.int16 if chain.wide else np.int8)
    held = chain.constant(values, [0.02], [0 if chain.wide else int(values[0])])
    op, table = chain.pick((("ADD", "AddOptions"), ("MUL", "MulOptions")))
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    return chain.add(op, [data, held], chain.activation(chain.shape(data)), (table, options))


def activation(chain: Chain, data: int) -> int:
    """A function of each element."""
    op = chain.pick(("LEAKY_RELU", "QUANTIZE", "LOGISTIC", "TANH", *(() if chain.wide else ("HARD_SWISH", "RELU"))))
    if op == "LOGISTIC":
        return chain.add(op, [data], chain.activation(chain.shape(data), 1 / (32768 if chain.wide else 256), -128))
    if op == "TANH":
        return chain.add(op, [data], chain.activation(chain.shape(data), 1 / (32768 if chain.wide else 128), 0))
    options = ("LeakyReluOptions", {"alpha": 0.3}) if op == "LEAKY_RELU" else None
    return chain.add(op, [data], chain.activation(chain.shape(data)), options)


def concat(chain: Chain, data: int) -> int:
    """The data beside itself."""
    batch, height, width, channels = chain.shape(data)
    output = chain.like(data, [batch, height, width, 2 * channels])
    return chain.add("CONCATENATION", [data, data], output, ("ConcatenationOptions", {"axis": 3}))


def pad(chain: Chain, data: int) -> int:
    """A row and a column around the plane, and a channel behind."""
    counts = np.array([[0, 0], [1, 0], [0, 1], [0, int(chain.rng.integers(2))]], np.int32)
    shape = [size + sum(pair) for size, pair in zip(chain.shape(data), counts.tolist(), strict=True)]
    return chain.add("PAD", [data, chain.constant(counts, [])], chain.like(data, shape))


def slice_(chain: Chain, data: int) -> int:
    """All channels but the first."""
    batch, height, width, channels = chain.shape(data)
    if channels == 1:
        return data
    starts = chain.constant(np.array([0, 0, 0, 1], np.int32), [])
    ends = chain.constant(np.array([batch, height, width, channels], np.int32), [])
    steps = chain.constant(np.ones(4, np.int32), [])
    output = chain.like(data, [batch, height, width, channels - 1])
    return chain.add("STRIDED_SLICE", [data, starts, ends, steps], output, ("StridedSliceOptions", {"begin_mask": 7}))


def mean_and_dense(chain: Chain, data: int) -> int:
    """The mean of the plane, then a dense layer."""
    batch, _, _, channels = chain.shape(data)
    axes = chain.constant(np.array([1, 2], np.int32), [])
    flat = chain.add("MEAN", [data, axes], chain.like(data, [batch, channels]), ("ReducerOptions", {}))
    weights = chain.constant(chain.weights([5, channels], 0, 1), [0.01])
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    inputs = [flat, weights, dense_bias(chain, flat, 5)]
    return chain.add("FULLY_CONNECTED", inputs, chain.activation([batch, 5]), ("FullyConnectedOptions", options))


def flat_dense(chain: Chain, data: int) -> int:
    """All elements in a row, then a dense layer with or without a bias; converters write a row's size or -1."""
    count = int(np.prod(chain.shape(data)))
    target, stated = (chain.pick(([1, count], [-1, count])) for _ in range(2))
    row = chain.like(data, [1, count])
    sizes = chain.constant(np.array(target, np.int32), [])
    chain.add("RESHAPE", [data, sizes], row, ("ReshapeOptions", {"new_shape": stated}))
    weights = chain.constant(chain.weights([4, count], 0, 1), [0.01])
    bias = chain.pick((-1, dense_bias(chain, row, 4)))
    options = {"fused_activation_function": chain.pick(ACTIVATIONS)}
    output = chain.activation([1, 4])
    return chain.add("FULLY_CONNECTED", [row, weights, bias], output, ("FullyConnectedOptions", options))


def dense_bias(chain: Chain, data: int, count: int) -> int:
    """A bias for weights of scale 0.01."""
    values = chain.rng.integers(-2000, 2000, count).astype(np.int64 if chain.wide else np.int32)
    return chain.constant(values, [chain.quantization(data)[0] * 0.01])


def joined(chain: Chain, data: int) -> int:
    """Two convolutions side by side."""
    parts = []
    for _ in range(2):
        rows = int(chain.rng.integers(2, 6))
        parts.append(pointwise(chain, data, chain.like(data, [*chain.shape(data)[:3], rows])))
    shape = [*chain.shape(data)[:3], sum(chain.shape(part)[3] for part in parts)]
    return chain.add("CONCATENATION", parts, chain.like(data, shape), ("ConcatenationOptions", {"axis": 3}))


def transposed(chain: Chain, data: int) -> int:
    """A transposed convolution, which is told the shape of what it makes."""
    batch, height, width, channels = chain.shape(data)
    rows = int(chain.rng.integers(2, 6))
    shape, scales = [batch, 2 * height, 2 * width, rows], chain.scales(rows)
    weights = chain.constant(chain.weights([rows, 2, 2, channels], 0, 3), scales)
    inputs = [chain.constant(np.array(shape, np.int32), []), weights, data, chain.bias(data, scales)]
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    return chain.add("TRANSPOSE_CONV", inputs, chain.activation(shape), ("TransposeConvOptions", options))


def swapped(chain: Chain, data: int) -> int:
    """The channels in two halves, exchanged."""
    *plane_, channels = chain.shape(data)
    if channels % 2:
        return data
    axis = chain.constant(np.array(3, np.int32), [])
    halves = [chain.like(data, [*plane_, channels // 2]) for _ in range(2)]
    chain.add("SPLIT", [axis, data], halves[0], ("SplitOptions", {"num_splits": 2}))
    chain.operators[-1]["outputs"] = halves
    return chain.add("CONCATENATION", halves[::-1], chain.like(data), ("ConcatenationOptions", {"axis": 3}))


def averaged(chain: Chain, data: int) -> int:
    """The mean of each channel, with its plane of one."""
    batch, _, _, channels = chain.shape(data)
    axes = chain.constant(np.array([1, 2], np.int32), [])
    output = chain.like(data, [batch, 1, 1, channels])
    return chain.add("MEAN", [data, axes], output, ("ReducerOptions", {"keep_dims": True}))


STEPS: tuple[Callable[[Chain, int], int], ...] = (
    *(conv, conv, conv, depthwise, depthwise, pool, residual, constant_operand, activation, concat, pad, slice_),
)


def random_chain(seed: int, steps: int = 5, *, wide: bool = False) -> bytes:
    """A model of some random layers, a convolution first, a dense layer last."""
    chain = Chain(seed, wide=wide)
    data = start = chain.activation([1, 7, 6, 3])
    data = conv(chain, data)
    for _ in range(steps):
        data = chain.pick(STEPS)(chain, data)
    return chain.model([start], [chain.pick((mean_and_dense, flat_dense))(chain, data)])


def as_converted(seed: int) -> bytes:
    """A random model of more kinds of layers, with what a converter writes beside them."""
    chain = Chain(seed)
    data = start = chain.activation([1, 6, 6, 3], 0.05, -3, name="x", shape_signature=[-1, 6, 6, 3])
    data = conv(chain, data)
    for _ in range(int(chain.rng.integers(2, 6))):
        data = chain.pick((*STEPS, joined, transposed, swapped, averaged))(chain, data)
    return chain.converted(start, flat_dense(chain, conv(chain, data)))
