"""Operators of TensorFlow Lite Micro that CMSIS-NN has no kernel for."""

from __future__ import annotations

REGISTERED = frozenset(
    {
        "ABS", "ADD_N", "ARG_MAX", "ARG_MIN", "ASSIGN_VARIABLE", "BATCH_TO_SPACE_ND", "BROADCAST_ARGS",
        "BROADCAST_TO", "CALL_ONCE", "CAST", "CEIL", "CONCATENATION", "COS", "CUMSUM", "DEPTH_TO_SPACE", "DEQUANTIZE",
        "DIV", "DYNAMIC_UPDATE_SLICE", "ELU", "EMBEDDING_LOOKUP", "EQUAL", "EXP", "EXPAND_DIMS", "FILL", "FLOOR",
        "FLOOR_DIV", "FLOOR_MOD", "GATHER", "GATHER_ND", "GREATER", "GREATER_EQUAL", "HARD_SWISH", "IF",
        "L2_NORMALIZATION", "L2_POOL_2D", "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOG", "LOGICAL_AND", "LOGICAL_NOT",
        "LOGICAL_OR", "LOGISTIC", "LOG_SOFTMAX", "MEAN", "MIRROR_PAD", "NEG", "NOT_EQUAL", "PACK", "PRELU", "QUANTIZE",
        "READ_VARIABLE", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6", "RESHAPE", "RESIZE_BILINEAR",
        "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "ROUND", "RSQRT", "SELECT_V2", "SHAPE", "SIN", "SLICE",
        "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SQUEEZE",
        "STRIDED_SLICE", "SUB", "SUM", "TANH", "UNPACK", "VAR_HANDLE", "WHILE", "ZEROS_LIKE",
    }
)  # fmt: skip
"""Further operators that a resolver can add (lite/micro/micro_mutable_op_resolver.h); all run reference code."""
