"""Sums of int16 in `.tflite`: channels times 1 with a bias, by every layer with weights."""

from __future__ import annotations

import numpy as np

from support.tflite_chains import Chain

OPTIONS = {
    "CONV_2D": ("Conv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1}),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    ),
    "FULLY_CONNECTED": ("FullyConnectedOptions", {}),
    "TRANSPOSE_CONV": ("TransposeConvOptions", {"padding": "VALID", "stride_w": 1, "stride_h": 1}),
}  # fmt: skip
BIAS = (100, 0, 300, 0, 500, 0)


def wide_sum(op: str, more: str = "", kind: type = np.int32) -> bytes:
    """Each channel times 1 and a bias, ten of which are one step."""
    chain = Chain(1, wide=True)
    count = len(BIAS)
    ends = [1, count] if op == "FULLY_CONNECTED" else [1, 3, 3, count]
    x = chain.activation(ends, 0.001, name="x")
    shape = {"FULLY_CONNECTED": (count, count), "DEPTHWISE_CONV_2D": (1, 1, 1, count)}.get(op, (count, 1, 1, count))
    weights = np.ones(shape, np.int8) if op == "DEPTHWISE_CONV_2D" else np.eye(count, dtype=np.int8).reshape(shape)
    held = chain.constant(weights, [0.01] * count, axis=3 if op == "DEPTHWISE_CONV_2D" else 0)
    bias = chain.constant(np.array(BIAS, kind), [0.00001] * count)
    y = chain.activation(ends, 0.0001, name="y")
    name, options = OPTIONS[op]
    inputs = [x, held, bias]
    if op == "TRANSPOSE_CONV":
        inputs = [chain.constant(np.array(ends, np.int32), []), held, x, bias]
    chain.add(op, inputs, y, (name, {**options, **({"quantized_bias_type": more} if more else {})}))
    return chain.model([x], [y], versions={"CONV_2D": 8, "DEPTHWISE_CONV_2D": 5, "FULLY_CONNECTED": 11})
