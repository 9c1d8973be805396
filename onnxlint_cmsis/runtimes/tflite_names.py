"""What TensorFlow Lite calls an ONNX operator, where converters write one operator for it."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.lowered import LoweredLayer

TFLITE_NAMES = {
    "Abs": "ABS", "Add": "ADD", "ArgMax": "ARG_MAX", "ArgMin": "ARG_MIN", "AveragePool": "AVERAGE_POOL_2D",
    "Cast": "CAST", "Ceil": "CEIL", "Concat": "CONCATENATION", "Conv": "CONV_2D", "ConvTranspose": "TRANSPOSE_CONV",
    "Cos": "COS", "CumSum": "CUMSUM", "DepthToSpace": "DEPTH_TO_SPACE", "Div": "DIV", "Elu": "ELU", "Equal": "EQUAL",
    "Exp": "EXP", "Floor": "FLOOR", "Gather": "GATHER", "Gelu": "GELU", "Gemm": "FULLY_CONNECTED",
    "GlobalAveragePool": "MEAN", "GlobalMaxPool": "REDUCE_MAX", "Greater": "GREATER", "HardSwish": "HARD_SWISH",
    "LeakyRelu": "LEAKY_RELU", "Less": "LESS", "Log": "LOG", "LogSoftmax": "LOG_SOFTMAX", "MatMul": "FULLY_CONNECTED",
    "Max": "MAXIMUM", "MaxPool": "MAX_POOL_2D", "Min": "MINIMUM", "Mul": "MUL", "Neg": "NEG", "Pad": "PAD",
    "Pow": "POW", "PRelu": "PRELU", "ReduceMax": "REDUCE_MAX", "ReduceMean": "MEAN", "ReduceMin": "REDUCE_MIN",
    "ReduceProd": "REDUCE_PROD", "ReduceSum": "SUM", "Relu": "RELU", "Resize": "RESIZE", "Round": "ROUND",
    "Sigmoid": "LOGISTIC", "Sin": "SIN", "Slice": "STRIDED_SLICE", "Softmax": "SOFTMAX",
    "SpaceToDepth": "SPACE_TO_DEPTH", "Split": "SPLIT", "Sqrt": "SQRT", "Sub": "SUB", "Sum": "ADD", "Tanh": "TANH",
    "Tile": "TILE", "TopK": "TOPK_V2", "Transpose": "TRANSPOSE", "Upsample": "RESIZE", "Where": "SELECT_V2",
    "LSTM": "LSTM", "GRU": "GRU", "RNN": "RNN",
}  # fmt: skip
"""Operator to the operator of TensorFlow Lite; RESIZE, LSTM, GRU and RNN stand for whatever becomes of them."""

LEFT_QUANTIZED = ("EXP", "LOG", "MIRROR_PAD", "REDUCE_MAX", "REDUCE_MIN", "RESIZE_BILINEAR")
"""Operators of which kernels refuse an integer type in which converters leave them, as converted files show; a
converter may compute others in float in between."""
WHOLE = {8: "INT8", 16: "INT16"}
"""Types of quantized data by their bits."""
REAL = ("float32", "float16", "float64")
RECURRENT = ("LSTM", "GRU", "RNN")
"""Those that converters write in several ways."""

BY_MODE = {
    ("Pad", "reflect"): "MIRROR_PAD",
    **{(op, "linear"): "RESIZE_BILINEAR" for op in ("Resize", "Upsample")},
    **{(op, "nearest"): "RESIZE_NEAREST_NEIGHBOR" for op in ("Resize", "Upsample")},
}
"""Operator for an ONNX operator with a mode, where it is another one than without."""

MODES = {"Resize": "nearest", "Upsample": "nearest"}
"""Mode of an operator that names none."""
_BY_CALL: dict[str, str] = {Function.DEPTHWISE: "DEPTHWISE_CONV_2D", Function.BATCH_MATMUL: "BATCH_MATMUL"}


def tflite_name(record: LoweredLayer) -> str:
    """Operator of TensorFlow Lite for a layer; empty where converters write several, or none is known."""
    name, layer = canonical(record.node), record.layer
    mode = record.node.text("mode", MODES.get(name, ""))
    return (layer and _BY_CALL.get(layer.call.function)) or BY_MODE.get((name, mode)) or TFLITE_NAMES.get(name, "")
