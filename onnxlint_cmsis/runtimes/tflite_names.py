"""What TensorFlow Lite calls an ONNX operator, where converters write one operator for it."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.lower.lowered import LoweredLayer

NAMES = {
    "Abs": "ABS", "Add": "ADD", "ArgMax": "ARG_MAX", "ArgMin": "ARG_MIN", "AveragePool": "AVERAGE_POOL_2D",
    "Cast": "CAST", "Ceil": "CEIL", "Concat": "CONCATENATION", "Conv": "CONV_2D", "ConvInteger": "CONV_2D",
    "ConvTranspose": "TRANSPOSE_CONV", "Cos": "COS", "CumSum": "CUMSUM", "DepthToSpace": "DEPTH_TO_SPACE",
    "Div": "DIV", "Elu": "ELU", "Equal": "EQUAL", "Exp": "EXP", "Floor": "FLOOR", "FusedConv": "CONV_2D",
    "FusedGemm": "FULLY_CONNECTED", "FusedMatMul": "FULLY_CONNECTED", "Gather": "GATHER", "Gelu": "GELU",
    "Gemm": "FULLY_CONNECTED", "GlobalAveragePool": "MEAN", "GlobalMaxPool": "REDUCE_MAX", "Greater": "GREATER",
    "HardSwish": "HARD_SWISH", "LeakyRelu": "LEAKY_RELU", "Less": "LESS", "Log": "LOG", "LogSoftmax": "LOG_SOFTMAX",
    "MatMul": "FULLY_CONNECTED", "MatMulInteger": "FULLY_CONNECTED", "Max": "MAXIMUM", "MaxPool": "MAX_POOL_2D",
    "Min": "MINIMUM", "Mul": "MUL", "Neg": "NEG", "Pad": "PAD", "Pow": "POW", "PRelu": "PRELU",
    "QGemm": "FULLY_CONNECTED", "QLinearAdd": "ADD", "QLinearAveragePool": "AVERAGE_POOL_2D",
    "QLinearConcat": "CONCATENATION", "QLinearConv": "CONV_2D", "QLinearGlobalAveragePool": "MEAN",
    "QLinearLeakyRelu": "LEAKY_RELU", "QLinearMatMul": "FULLY_CONNECTED", "QLinearMul": "MUL",
    "QLinearSigmoid": "LOGISTIC", "QLinearSoftmax": "SOFTMAX", "ReduceMax": "REDUCE_MAX", "ReduceMean": "MEAN",
    "ReduceMin": "REDUCE_MIN", "ReduceProd": "REDUCE_PROD", "ReduceSum": "SUM", "Relu": "RELU",
    "Resize": "RESIZE", "Round": "ROUND", "Sigmoid": "LOGISTIC", "Sin": "SIN", "Slice": "STRIDED_SLICE",
    "Softmax": "SOFTMAX", "SpaceToDepth": "SPACE_TO_DEPTH", "Split": "SPLIT", "Sqrt": "SQRT", "Sub": "SUB",
    "Sum": "ADD", "Tanh": "TANH", "Tile": "TILE", "TopK": "TOPK_V2", "Transpose": "TRANSPOSE", "Upsample": "RESIZE",
    "Where": "SELECT_V2", "LSTM": "LSTM", "GRU": "GRU", "RNN": "RNN",
}  # fmt: skip
"""ONNX operator to the operator of TensorFlow Lite; RESIZE, LSTM, GRU and RNN stand for whatever becomes of them."""
RECURRENT = ("LSTM", "GRU", "RNN")
"""Those that converters write in several ways."""
_BY_CALL = {"depthwise": "DEPTHWISE_CONV_2D", "batch_matmul": "BATCH_MATMUL"}


def tflite_name(record: LoweredLayer) -> str:
    """Operator of TensorFlow Lite for a layer; empty where converters write several, or none is known."""
    stem = record.layer.call.entry.rpartition("_")[0] if record.layer else ""
    return _BY_CALL.get(stem) or _of_node(record.node)


def _of_node(node: Node) -> str:
    return NAMES.get(node.op_type, "") if node.domain in ("", "com.microsoft") else ""
