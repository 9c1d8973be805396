"""Small models that a fix changes, repairs or leaves alone."""

from __future__ import annotations

import numpy as np
import onnx

from support.dims_graphs import Builder


def gaining():
    """Depthwise multiplier 3 between 1x1 convolutions: 4 costs far less on every CPU."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 5, name="conv0")
    weights = build.weights(15, 1, 3, 3)
    value = build.op("Conv", value, weights, name="depthwise", kernel_shape=[3, 3], group=5)
    return build.model(build.conv(value, 15, 2, name="conv1")).SerializeToString()


def gaining_twice():
    """Two depthwise layers of multiplier 3; the second has more channels, and more to gain."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 5, name="conv0")
    for name, width in (("small", 5), ("large", 9)):
        weights = build.weights(3 * width, 1, 3, 3)
        value = build.op("Conv", value, weights, name=name, kernel_shape=[3, 3], group=width, pads=[1, 1, 1, 1])
        value = build.conv(value, 3 * width, 9 if width == 5 else 2, name=f"behind_{name}")
    return build.model(value).SerializeToString()


def gaining_in_turns():
    """Three depthwise layers of multiplier 3: one may grow where the channels in front of it stay."""
    build, width = Builder(), 3
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, width, name="conv0")
    for number, channels in enumerate((6, 5, 3)):
        weights = build.weights(3 * width, 1, 3, 3)
        shape = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        value = build.op("Conv", value, weights, name=f"depthwise{number}", group=width, **shape)
        value, width = build.conv(value, 3 * width, channels, name=f"conv{number + 1}"), channels
    return build.model(build.conv(value, width, 2, name="last")).SerializeToString()


def accepted_beside():
    """Five channels that grow where a depthwise layer, named `wide`, may not have a multiplier of 4 in place of 3."""
    build = Builder()
    value = build.conv(build.input("x", 1, 1, 1, 32), 1, 5, name="stem")
    shape = {"kernel_shape": [1, 3], "pads": [0, 1, 0, 1]}
    value = build.op("Conv", value, build.weights(15, 1, 1, 3), name="wide", group=5, **shape)
    shape = {"kernel_shape": [1, 5], "pads": [0, 2, 0, 2]}
    return build.model(build.op("Conv", value, build.weights(9, 15, 1, 5), name="head", **shape)).SerializeToString()


def dead():
    """Eight of twenty channels have no weights and no bias."""
    build = Builder()
    weights = build.random.uniform(-1, 1, (20, 4, 1, 1)).astype(np.float32)
    weights[5:13] = 0
    bias = np.zeros(20, np.float32)
    value = build.op("Conv", build.input("x", 1, 4, 8, 8), build.const(weights), build.const(bias), name="conv0")
    return build.model(build.conv(build.op("Relu", value), 20, 8, name="conv1")).SerializeToString()


def nothing():
    """Sizes that are best already."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 8, 8), 4, 16, name="conv0")
    return build.model(build.conv(value, 16, 4, name="conv1")).SerializeToString()


def row(elem_type):
    """A 1x5 layer of stride 2 right behind an input of four channels, wrong on Cortex-M55; float or int8 input."""
    build = Builder()
    data = build.input("x", 1, 4, 1, 32, elem_type=elem_type)
    if elem_type != onnx.TensorProto.FLOAT:
        scale, zero = build.const(0.1, np.float32), build.const(3, np.int8)
        data = build.op("DequantizeLinear", data, scale, zero)
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    if elem_type == onnx.TensorProto.FLOAT:
        return build.model(build.op("Conv", data, build.weights(8, 4, 1, 5), build.weights(8), name="row", **shape))
    value = build.op("Conv", data, int8_weights(build, 8, 4, 1, 5), name="row", **shape)
    return build.model(build.op("QuantizeLinear", value, scale, zero))


def int8_weights(build, *shape):
    """Weights behind DequantizeLinear."""
    stored = build.const(build.random.integers(-90, 90, shape), np.int8)
    return build.op("DequantizeLinear", stored, build.const(0.02, np.float32), build.const(0, np.int8))


def hazardous():
    """A 1x5 layer of stride 2 behind four channels that may change: wrong on Cortex-M55 (CNN302)."""
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 1, 32), 4, 4, name="before")
    shape = {"kernel_shape": [1, 5], "strides": [1, 2], "auto_pad": "SAME_UPPER"}
    return build.model(build.op("Conv", value, build.weights(8, 4, 1, 5), name="row", **shape)).SerializeToString()


def const(build, *shape):
    return build.const(build.random.uniform(-1, 1, shape), np.float32)


def wide_stem(build):
    return build.op("Conv", build.input("x", 1, 4, 8, 8), const(build, 6, 4, 1, 1), name="stem")


def head(build, value):
    return build.op("Conv", value, const(build, 3, 6, 1, 1), name="head")
