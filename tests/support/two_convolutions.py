"""Two convolutions of int8 in ONNX, and a pair of files of which one has a constant lane more."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from support.repairable_models import Parts


def layers(first: np.ndarray, second: np.ndarray, bias: np.ndarray, order: str = "qdq") -> onnx.ModelProto:
    """Two convolutions of int8; the first has a Relu, `bias` is that of the second; QDQ or QLinearConv."""
    parts, source = Parts(), "x"
    for name, weights, added in (("a", first, np.zeros(len(first))), ("b", second, bias)):
        scale = 0.01 if name == "a" else 0.02
        held = parts.constant(f"{name}_w", weights, np.int8)
        integers = parts.constant(f"{name}_b", added, np.int32)
        parameters = [parts.parameters(f"{name}_{part}", step, zero, np.int8) for part, step, zero in
                      (("x", 0.05, -3), ("wq", scale, 0), ("y", 0.05, -3))]  # fmt: skip
        if order == "qdq":
            real = parts.node("DequantizeLinear", [source, *parameters[0]], f"{name}_xr")
            kernel = parts.node("DequantizeLinear", [held, *parameters[1]], f"{name}_wr")
            unit = parts.constant(f"{name}_unit", np.float32(0.05) * np.float32(scale), np.float32)
            whole = parts.node("DequantizeLinear", [integers, unit], f"{name}_br")
            last = parts.node("Conv", [real, kernel, whole], f"{name}_sum")
            last = parts.node("Relu", [last], f"{name}_relu") if name == "a" else last
            source = parts.node("QuantizeLinear", [last, *parameters[2]], name)
        else:
            inputs = [source, *parameters[0], held, *parameters[1], *parameters[2], integers]
            source = parts.node("QLinearConv", inputs, name)
    return parts.model((onnx.TensorProto.INT8, (1, 2, 4, 4)), source)


RANDOM = np.random.default_rng(3)
FIRST, SECOND = RANDOM.integers(-9, 9, (3, 2, 3, 3)), RANDOM.integers(-9, 9, (2, 3, 1, 1))
BIAS = np.array([5, -7])


def steady_pair() -> tuple[bytes, bytes]:
    """A model with a constant lane, and one without it."""
    steady = FIRST.copy()
    steady[1] = 0
    models = [layers(steady, SECOND, BIAS), layers(FIRST[[0, 2]], SECOND[:, [0, 2]], BIAS + SECOND[:, 1, 0, 0] * 5)]
    (bias,) = [tensor for tensor in models[0].graph.initializer if tensor.name == "a_b"]
    bias.CopyFrom(numpy_helper.from_array(np.array([0, 500, 0], np.int32), "a_b"))
    return models[0].SerializeToString(), models[1].SerializeToString()
