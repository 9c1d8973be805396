"""Ways to use ONNX's operators, with constants and attributes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

MICROSOFT = "com.microsoft"
Shape = tuple[int, ...]
IMAGE: Shape = (1, 4, 5, 5)
Array = np.ndarray


class Operation(NamedTuple):
    """A way to use an operator: constants behind its first input `x`, and attributes."""

    op: str
    held: tuple[Array | None, ...] = ()
    attributes: dict[str, object] = {}  # noqa: RUF012 - read only
    data: int = 1
    """Inputs that are no constants."""
    opset: int = 13
    domain: str = ""
    shape: Shape = IMAGE
    """Of `x` and `m`."""


def f(*shape: int) -> Array:
    """Real constants of a shape, the same in every run."""
    return np.random.default_rng(len(shape) + sum(shape)).normal(0, 1, shape).astype(np.float32)


def i(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


FLOATS = [
    *(Operation(op) for op in ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Sqrt", "Floor", "Ceil", "Erf", "Round",
                               "Reciprocal", "Softsign", "Softplus", "Sign", "Identity", "Cos", "Log", "IsNaN", "Not")),
    *(Operation(op, (), {"alpha": 0.1}) for op in ("LeakyRelu", "Elu", "HardSigmoid", "Selu", "ThresholdedRelu")),
    Operation("HardSwish", opset=14), Operation("Celu", (), {"alpha": 0.7}), Operation("Mish", opset=18),
    *(Operation(op, data=2) for op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "Sum", "Mean", "MatMul",
                                       "Greater", "Equal", "Less", "PRelu")),
    *(Operation(op, (f(4, 1, 1),)) for op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "PRelu")),
    Operation("Clip", (np.float32(-1), np.float32(1))), Operation("Clip", (None, np.float32(6))), Operation("Clip"),
    Operation("Conv", (f(6, 4, 3, 3), f(6)), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    Operation("Conv", (f(4, 1, 3, 3),), {"group": 4}), Operation("ConvTranspose", (f(4, 3, 2, 2), f(3))),
    Operation("MatMul", (f(5, 3),)), Operation("Softmax", (), {"axis": 1}), Operation("LogSoftmax"),
    Operation("Hardmax"), Operation("MaxPool", (), {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]}),
    Operation("AveragePool", (), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Operation("GlobalAveragePool"), Operation("GlobalMaxPool"), Operation("LpPool", (), {"kernel_shape": [2, 2]}),
    *(Operation(op, (), {"axes": [2, 3], "keepdims": 1}) for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2",
                                                                     "ReduceProd", "ReduceSumSquare")),
    Operation("ReduceMean", (i(2, 3),), opset=18), Operation("ReduceSum", (i(1),)),
    Operation("BatchNormalization", (f(4), f(4), f(4), np.abs(f(4)) + 1)), Operation("LRN", (), {"size": 3}),
    Operation("InstanceNormalization", (f(4), f(4))), Operation("LayerNormalization", (f(5), f(5)), opset=17),
    Operation("Pad", (i(0, 0, 1, 1, 0, 0, 1, 1), np.float32(0))), Operation("Transpose", (), {"perm": [0, 2, 3, 1]}),
    Operation("Reshape", (i(0, -1),)), Operation("Flatten"), Operation("Squeeze", (i(0),)),
    Operation("Unsqueeze", (i(0),)),
    Operation("Slice", (i(0, 1), i(2, 4), i(1, 2), i(1, 2))), Operation("Gather", (i(2, 0, 1),), {"axis": 1}),
    Operation("Concat", (), {"axis": 1}, data=2), Operation("Concat", (f(1, 4, 5, 5),), {"axis": -1}),
    Operation("DepthToSpace", (), {"blocksize": 2}), Operation("Tile", (i(1, 2, 1, 1),)),
    Operation("Expand", (i(2, 4, 5, 5),)),
    Operation("Resize", (None, np.array([1, 1, 2, 2], np.float32)), {"mode": "nearest"}),
    Operation("Resize", (None, np.array([1, 1, 2, 2], np.float32)), {"mode": "linear"}),
    Operation("Cast", (), {"to": TensorProto.INT8}), Operation("Cast", (), {"to": TensorProto.FLOAT16}),
    Operation("CumSum", (i(1),)), Operation("TopK", (i(2),)), Operation("ArgMax", (), {"axis": 1}),
    Operation("Shape"), Operation("Dropout"),
    Operation("GatherElements", (np.zeros((1, 4, 5, 2), np.int64),), {"axis": 3}),
    Operation("QuantizeLinear", (np.float32(0.1), np.int8(3))), Operation("QuantizeLinear", (np.float32(0.1),)),
    Operation("QuantizeLinear", (np.float32(0.1), np.uint8(3)), opset=23), Operation("DynamicQuantizeLinear"),
    Operation("Einsum", (f(5, 3),), {"equation": "abcd,de->abce"}), Operation("Trilu", opset=14),
    Operation("ScatterElements", (np.zeros((1, 1, 1, 1), np.int64), f(1, 1, 1, 1)), {"axis": 2}),
    Operation("Where"), Operation("CastLike", (np.int8(1),), opset=15), Operation("Gelu", opset=20),
    Operation("Size"),
    *(Operation(op) for op in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sin", "Sinh", "Tan", "IsInf",
                               "GlobalLpPool", "LpNormalization", "MeanVarianceNormalization", "ReduceL1",
                               "ReduceLogSum", "ReduceLogSumExp", "Shrink", "BitwiseNot")),
    *(Operation(op, data=2) for op in ("GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr",
                                       "BitwiseXor", "Mod")),
    Operation("BitShift", (), {"direction": "LEFT"}, data=2), Operation("ArgMin", (), {"axis": 1}),
    Operation("GroupNormalization", (f(4), f(4)), {"num_groups": 2}, opset=21),
    Operation("RMSNormalization", (f(5),), opset=23),
    Operation("SpaceToDepth", (), {"blocksize": 5}), Operation("Split", (i(1, 3),), {"axis": 1}),
    Operation("Swish", opset=24),
    Operation("Gemm", (f(5, 3), f(3)), shape=(2, 5)), Operation("Gemm", (f(3, 5), f(3)), {"transB": 1}, shape=(2, 5)),
    Operation("LSTM", (f(1, 12, 5), f(1, 12, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("GRU", (f(1, 9, 5), f(1, 9, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("RNN", (f(1, 3, 5), f(1, 3, 3)), {"hidden_size": 3}, shape=(2, 1, 5)),
    Operation("BiasGelu", (f(5),), domain=MICROSOFT), Operation("FastGelu", (f(5),), domain=MICROSOFT),
    Operation("Gelu", domain=MICROSOFT), Operation("QuickGelu", (), {"alpha": 1.702}, domain=MICROSOFT),
    Operation("FusedConv", (f(6, 4, 3, 3), f(6)), {"activation": "Relu"}, domain=MICROSOFT),
    Operation("FusedGemm", (f(5, 3), f(3)), {"activation": "Relu"}, domain=MICROSOFT, shape=(2, 5)),
    Operation("FusedMatMul", (f(5, 3),), {"alpha": 0.5}, domain=MICROSOFT),
    Operation("DynamicQuantizeMatMul", (np.ones((5, 3), np.int8), np.float32(0.1), np.int8(0)), domain=MICROSOFT),
    Operation("QuantizeLinear", (np.float32(0.1), np.int8(3)), domain=MICROSOFT), Operation("DequantizeLinear"),
]  # fmt: skip
QUANTIZED = [op for op in FLOATS if op.op not in (
    "Shape", "ArgMax", "Cast", "TopK", "Where", "Not", "IsNaN", "Equal", "Greater", "Less", "DynamicQuantizeLinear",
    "QuantizeLinear", "CastLike", "Size", "IsInf", "ArgMin", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor",
    "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "DequantizeLinear",
) and len(op.shape) == 4]  # fmt: skip
WHOLE = ("Relu", "Abs", "Neg", "Sign", "Identity", "Add", "Mul", "Sub", "Div", "Max", "Min", "MatMul", "Clip", "Equal",
         "Transpose", "Reshape", "Flatten", "Squeeze", "Slice", "Gather", "Concat", "Tile", "Expand", "Pad", "ArgMax",
         "CumSum", "ReduceSum", "ReduceMax", "ReduceMin", "MaxPool", "Cast", "Where", "Pow", "Sum", "Less",
         "TopK", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Mod", "ArgMin", "Size", "Split",
         "CastLike", "And", "Not", "Or", "Xor")  # fmt: skip
