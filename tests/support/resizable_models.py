"""Small models of every style of quantization, for the tests that resize a class."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support.dims_graphs import Builder

GROW = (0, 1, 2, None)
"""Three lanes become four."""


def two_convs(**options) -> tuple[Builder, str]:
    """`first` makes three channels, `last` reads them."""
    build = Builder(**options)
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    return build, build.conv(data, 3, 2, name="last")


def qlinear(build: Builder, data: str, weights: np.ndarray, name: str, *bias: str, zero: int = 0) -> str:
    """QLinearConv with weights of one zero-point and a scale for each row."""
    dtype = np.uint8 if zero else np.int8
    scales = build.const(np.linspace(0.01, 0.02, len(weights)), np.float32)
    held = build.const(weights + zero, dtype), scales, build.const(np.full(len(weights), zero), dtype)
    quantized = build.const(0.1, np.float32), build.const(3, np.uint8)
    return build.op("QLinearConv", data, *quantized, *held, *quantized, *bias, name=name)


def integer_model(zero: int = 120, bias: bool = True) -> onnx.ModelProto:
    """Two QLinearConv with uint8 weights; the second lane of the first one is dead."""
    build = Builder()
    random = np.random.default_rng(0)
    weights = random.integers(-30, 30, (3, 2, 1, 1))
    weights[1] = 0
    first = build.const(np.array([10, 200, -30]), np.int32)
    data = qlinear(build, build.input("x", 1, 2, 4, 4, elem_type=TensorProto.UINT8), weights, "first", first, zero=zero)
    last = [build.const(np.array([2**31 - 900, 7]), np.int32)] if bias else []
    return build.model(qlinear(build, data, random.integers(-30, 30, (2, 3, 1, 1)), "last", *last, zero=zero))


def qdq_model(bias: bool) -> onnx.ModelProto:
    """QDQ convolutions with scales per channel; the last with or without an int32 bias."""
    build = Builder()
    random = np.random.default_rng(0)
    data = build.input("x", 1, 2, 4, 4)
    for name, shape in (("first", (3, 2, 1, 1)), ("last", (2, 3, 1, 1))):
        step, zero = build.const(0.1, np.float32), build.const(-3, np.int8)
        data = build.op("DequantizeLinear", build.op("QuantizeLinear", data, step, zero), step, zero)
        scales = np.linspace(0.01, 0.02, shape[0]).astype(np.float32)
        held = build.const(random.integers(-90, 90, shape), np.int8, f"{name}_w")
        weights = build.op("DequantizeLinear", held, build.const(scales, name=f"{name}_s"), axis=0)
        inputs = [data, weights]
        if bias or name == "first":
            unit = build.const(scales * np.float32(0.1), np.float32)
            inputs.append(
                build.op("DequantizeLinear", build.const([900] * shape[0], np.int32, f"{name}_b"), unit, axis=0)
            )
        data = build.op("Conv", *inputs, name=name)
    return build.model(build.op("QuantizeLinear", data, build.const(0.1, np.float32), build.const(0, np.int8)))


def branch_model() -> onnx.ModelProto:
    """A convolution, and one of two in the branches of If, whose result a last one reads."""
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    bodies = []
    for name in ("a", "b"):
        weights = numpy_helper.from_array(build.random.uniform(-1, 1, (3, 3, 1, 1)).astype(np.float32), "w")
        weights.name = f"{name}_w"
        node = helper.make_node("Conv", [data, f"{name}_w"], [f"{name}_out"], f"{name}_conv")
        output = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [1, 3, 4, 4])
        bodies.append(helper.make_graph([node], name, [], [output], [weights]))
    condition = build.input("yes", elem_type=TensorProto.BOOL)
    chosen = build.op("If", condition, then_branch=bodies[0], else_branch=bodies[1], name="if")
    return build.model(build.conv(chosen, 3, 2, name="last"))
