"""The highest version of each operator that was known when TensorFlow Lite Micro was reviewed."""

from __future__ import annotations

_BY_VERSION = {
    1: (
        "ADD_N ASSIGN_VARIABLE BROADCAST_ARGS CALL_ONCE CEIL CUMSUM ELU EXPAND_DIMS FLOOR HARD_SWISH IF L2_POOL_2D "
        "LOGICAL_AND LOGICAL_NOT LOGICAL_OR NEG PRELU READ_VARIABLE REDUCE_ALL RESHAPE ROUND SHAPE SQUARE VAR_HANDLE "
        "WHILE ZEROS_LIKE"
    ),
    2: (
        "COS DEPTH_TO_SPACE DIV EXP FLOOR_MOD GREATER L2_NORMALIZATION LEAKY_RELU LESS_EQUAL LOG LOG_SOFTMAX SELECT_V2 "
        "SIN SPACE_TO_DEPTH SQRT SQUARED_DIFFERENCE SQUEEZE SUM"
    ),
    3: (
        "ARG_MAX ARG_MIN AVERAGE_POOL_2D FLOOR_DIV GREATER_EQUAL LESS LOGISTIC MAX_POOL_2D MEAN MIRROR_PAD REDUCE_MAX "
        "REDUCE_MIN RELU RELU6 RSQRT SPLIT_V TANH"
    ),
    4: (
        "BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_TO MAXIMUM MINIMUM NOT_EQUAL RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR "
        "REVERSE_V2 SOFTMAX SPACE_TO_BATCH_ND SVDF"
    ),
    5: "ABS EMBEDDING_LOOKUP EQUAL FILL PACK SPLIT SUB TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM",
    6: "ADD DYNAMIC_UPDATE_SLICE GATHER_ND PAD PADV2 QUANTIZE UNPACK",
    7: "CONCATENATION DEPTHWISE_CONV_2D",
    8: "CONV_2D GATHER MUL SLICE STRIDED_SLICE",
    9: "CAST DEQUANTIZE TRANSPOSE",
    14: "FULLY_CONNECTED",
}

HIGHEST_VERSION: dict[str, int] = {op: version for version, ops in _BY_VERSION.items() for op in ops.split()}
"""Of the operators that TensorFlow Lite Micro registers: the highest version for which LiteRT 2.3.0 has a kernel, asked
version by version. UNIDIRECTIONAL_SEQUENCE_LSTM has 5 from tensorflow/compiler/mlir/lite/tools/versioning/op_version.cc
(tensorflow 03f49db5). The versions are those of all reviewed revisions whose `.tflite` files are judged.
"""
