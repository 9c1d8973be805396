"""What operators may be off: a row for each operator, type and host. The first that fits holds."""

from __future__ import annotations

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.host.bounds import (
    EQUAL,
    ONE,
    Bound,
    Rule,
    added,
    added_in_vectors,
    added_wide,
    always,
    bilinear,
    clamped,
    curve_wide,
    leaky,
    matrices,
    near_halves,
    prelu,
    product,
    relu,
    rescaled,
    shipped_product,
    shortened,
    shortened_reference,
    softmax,
    weighted,
    wide,
    wide_reference,
)
from onnxlint_cmsis.runtimes.host.hosts import BOTH, PLAIN, SHIPPED, Host


class HostRow(NamedTuple):
    """What operators may be off in a host."""

    ops: tuple[str, ...]
    """Operators."""
    kinds: tuple[str, ...]
    """Element types of the data; none for any type."""
    hosts: tuple[Host, ...]
    """Runtimes."""
    rule: Rule
    """Bound of a layer."""
    most: str
    """The bound in words, for the page on runtimes."""
    why: str
    """Why they differ, or why not."""
    source: str
    """Where that stands."""
    measured: str
    """What was seen in random layers: part of the results and largest difference."""


S8, S16 = ("int8",), ("int16",)
WHOLE = ("int8", "int16")
FLOAT = ("float32",)
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")

COPIES = (
    "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "UNPACK", "PACK",
    "GATHER", "GATHER_ND", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "REVERSE_V2", "BROADCAST_TO", "CONCATENATION", "PAD",
    "PADV2", "MIRROR_PAD", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "MAX_POOL_2D", "MAXIMUM", "MINIMUM",
    "REDUCE_MAX", "REDUCE_MIN", "RESIZE_NEAREST_NEIGHBOR", "ZEROS_LIKE", "SELECT_V2", "DYNAMIC_UPDATE_SLICE",
)  # fmt: skip
"""Operators whose results are elements of their inputs."""

EXACT = (
    "SHAPE", "FILL", "ARG_MAX", "ARG_MIN", "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL",
    "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "BROADCAST_ARGS", "CAST",
)  # fmt: skip
"""Operators whose results are sizes, places or truth values."""

UNTOLD_BIAS = "{}; any with an int32 bias where quantized_bias_type is left out"
SAME_CODE = "the same integers, in another order at most"
REQUANTIZE = "rounds once, the device twice at negative shifts"

ROWS: tuple[HostRow, ...] = (
    HostRow(
        CONVOLUTIONS, S8, SHIPPED, weighted, "1", REQUANTIZE,
        "XNNPACK multiplies by floats and rounds halves to even", "0.03 to 0.3 %, by 1",
    ),
    HostRow(CONVOLUTIONS, S8, PLAIN, always(EQUAL), "0", SAME_CODE, "integer_ops/conv.h", "none of 110,000"),
    HostRow(
        CONVOLUTIONS, S16, SHIPPED, wide, "0; with an int32 bias 1, or any where quantized_bias_type is left out",
        "optimized kernels take sums of 32 bits, the device a shortened multiplier or two roundings",
        "LiteRT's conv.cc:1021", "0.02 % of those with an int32 bias, by 1",
    ),
    HostRow(
        CONVOLUTIONS, S16, PLAIN, wide_reference, UNTOLD_BIAS.format("0"), SAME_CODE, "integer_ops/conv.h",
        "none of 110,000",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S8, BOTH, weighted, "1", REQUANTIZE,
        "LiteRT's reference kernel rounds a double (integer_ops/fully_connected.h:187)", "0.03 to 0.09 %, by 1",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S16, SHIPPED, shortened, "1, or 2",
        "multiplies by a double; the device's multiplier has 15 bits", "common.cc:MultiplyByQuantizedMultiplier",
        "2.2 %, by 1",
    ),
    HostRow(
        ("FULLY_CONNECTED",), S16, PLAIN, shortened_reference, UNTOLD_BIAS.format("1, or 2"),
        "multiplies by a double; the device's multiplier has 15 bits", "common.cc:MultiplyByQuantizedMultiplier",
        "2.2 %, by 1",
    ),
    HostRow(
        ("BATCH_MATMUL",), S8, SHIPPED, matrices, "0; 1 with a constant operand", REQUANTIZE,
        "XNNPACK takes products with a constant", "none of 38,400 without a constant",
    ),
    HostRow(("BATCH_MATMUL",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "batch_matmul.h", "none of 38,400"),
    HostRow(
        ("ADD", "SUB"), S8, SHIPPED, added, "0 or 1",
        "adds with multipliers of 21 bits and rounds halves up, the device halves away from zero",
        "XNNPACK's qs8-vadd", "0.1 to 0.2 % of all pairs, by 1",
    ),
    HostRow(("ADD", "SUB"), S8, PLAIN, always(EQUAL), "0", SAME_CODE, "integer_ops/add.h", "none of 3,900,000"),
    HostRow(
        ("ADD", "SUB"), S16, SHIPPED, added_in_vectors, "0 of unequal shapes, else 1",
        "rounds operands otherwise in vectors",
        "LiteRT's optimized/integer_ops/add.h", "0.15 % where scales are powers of two, less than 0.001 % elsewhere",
    ),
    HostRow(
        ("ADD", "SUB"), S16, PLAIN, added_wide, "0; 1 where scales are powers of two",
        "shifts by powers of two, where the device multiplies", "LiteRT's add.cc:216, sub.cc:203", "0.15 %, by 1",
    ),
    HostRow(
        ("MUL",), S8, SHIPPED, shipped_product, "1", REQUANTIZE, "XNNPACK's qs8-vmul", "0.6 % of all pairs, by 1",
    ),
    HostRow(
        ("MUL",), WHOLE, BOTH, product, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, the device in double", "mul_common.cc:62, LiteRT's mul.cc:126",
        "none of 3,900,000 in int8; 0.0004 % in int16, by 1",
    ),
    HostRow(
        ("DIV", "SQUARED_DIFFERENCE"), S8, BOTH, always(EQUAL), "0", SAME_CODE, "div.cc, squared_difference.cc",
        "none of 33,000 and 3,900,000; LiteRT refuses a divisor of 0",
    ),
    HostRow(
        ("RELU",), WHOLE, BOTH, relu, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, newer devices in double",
        "activations_common.cc:42", "none of 61,440 in int8; 0.007 % in int16, by 1",
    ),
    HostRow(
        ("RELU6", "RELU_N1_TO_1"), WHOLE, BOTH, clamped, "0",
        "clamps integers alone", "activations_common.cc:122", "none of 61,440",
    ),
    HostRow(
        ("LEAKY_RELU",), S8, SHIPPED, always(ONE), "1", "multiplies by numbers of 8 fraction bits",
        "XNNPACK's qs8-vlrelu", "9 % of all integers, by 1",
    ),
    HostRow(
        ("LEAKY_RELU",), WHOLE, BOTH, leaky, "0, or 1 where a factor rounds otherwise",
        "computes the factor in single precision, newer devices in double",
        "leaky_relu_common.cc:55", "none of 61,440 in int8; 0.01 % in int16, by 1",
    ),
    HostRow(
        ("PRELU",), WHOLE, BOTH, prelu, "0, or 1 where a factor rounds otherwise",
        "computes the factors in single precision, the device in double", "prelu_common.cc:32",
        "none of 51,200 in int8; 0.006 % in int16, by 1",
    ),
    HostRow(
        ("LOGISTIC",), S8, BOTH, near_halves(lambda x: 1 / (1 + np.exp(-x))), "0, or 1 at halves",
        "looks up floats, the device computes in fixed-point numbers", "integer_ops/logistic.h",
        "0.03 % of all integers, by 1",
    ),
    HostRow(
        ("TANH",), S8, BOTH, near_halves(np.tanh), "0, or 1 at halves",
        "looks up floats, the device computes in fixed-point numbers", "integer_ops/tanh.h", "none of 61,440",
    ),
    HostRow(
        ("LOGISTIC",), S16, SHIPPED, curve_wide({-12: 7}), "0; 7 at a scale of 2^-12",
        "has other code for that scale", "LiteRT's activations.cc:506", "87 % of all integers at 2^-12, by 7 at most",
    ),
    HostRow(
        ("TANH",), S16, SHIPPED, curve_wide({-12: 12, -11: 12}), "0; 12 at scales of 2^-12 and 2^-11",
        "has other code for that scale", "LiteRT's activations.cc:396", "63 % of all integers at 2^-12, by 12 at most",
    ),
    HostRow(("LOGISTIC", "TANH"), S16, PLAIN, always(EQUAL), "0", SAME_CODE, "integer_ops/logistic.h", "none of all"),
    HostRow(("HARD_SWISH",), S8, BOTH, always(EQUAL), "0", SAME_CODE, "reference/hard_swish.h", "none of 409,600"),
    HostRow(
        ("ELU",), S8, BOTH, near_halves(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)),
        "0, or 1 at halves", "rounds floats that are off in the last bits", "XNNPACK's unary lookup",
        "0.2 % of all integers, by 1",
    ),
    HostRow(("ABS",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "elementwise.cc", "none of 61,440"),
    HostRow(
        ("SOFTMAX",), S8, SHIPPED, softmax, "1 to int8; to int16 1, and 1 for each 16 elements of a row",
        "sums exponentials as floats", "LiteRT's optimized_ops.h:Softmax",
        "0.001 % to int8, by 1; 0.15 % to int16, by 1 in rows of 60 and 14 in rows of 300",
    ),
    HostRow(("SOFTMAX",), S8, PLAIN, always(EQUAL), "0", SAME_CODE, "reference/softmax.h", "none of 74,502"),
    HostRow(
        ("SOFTMAX",), S16, BOTH, always(Bound(2)), "2", "has another number in one place of the table of exponentials",
        "softmax_common.cc", "0.02 %, by 1",
    ),
    HostRow(
        ("LOG_SOFTMAX",), S8, SHIPPED, always(Bound(None)), "not bounded", "looks up floats",
        "LiteRT's activations.cc", "0.02 %, by 5 at most",
    ),
    HostRow(("LOG_SOFTMAX",), S8, PLAIN, always(EQUAL), "0", SAME_CODE, "reference/log_softmax.h", "none of 48,000"),
    HostRow(
        ("L2_NORMALIZATION",), S8, BOTH, always(EQUAL), "0", SAME_CODE, "integer_ops/l2normalization.h",
        "none of 25,600",
    ),
    HostRow(
        ("AVERAGE_POOL_2D",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "integer_ops/pooling.h", "none of 115,744",
    ),
    HostRow(
        ("MEAN",), S8, SHIPPED, always(ONE), "1", "multiplies by a float, and rounds the zero-point by itself",
        "XNNPACK; LiteRT's integer_ops/mean.h", "0.7 to 7 %, by 1",
    ),
    HostRow(("MEAN",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "reference/reduce.h", "none of 3,118"),
    HostRow(("SUM",), WHOLE, SHIPPED, always(ONE), "1", REQUANTIZE, "LiteRT's reduce.cc:1224", "4 to 7 %, by 1"),
    HostRow(
        ("SUM",), WHOLE, PLAIN, always(Bound(None)), "not bounded", "adds integers without their scales",
        "LiteRT's reduce.cc", "nearly all",
    ),
    HostRow(
        ("RESIZE_BILINEAR",), S8, SHIPPED, bilinear, "1 or 2, more in large images",
        "places rows in floats, the device in 1/1024 of a row", "reference/resize_bilinear.h:120", "13 %, by 2 at most",
    ),
    HostRow(
        ("RESIZE_BILINEAR",), S8, PLAIN, always(EQUAL), "0", SAME_CODE, "reference/resize_bilinear.h",
        "none of 146,080",
    ),
    HostRow(
        ("QUANTIZE",), S8, SHIPPED, rescaled, "1 to int8, 0 to int16", "multiplies by numbers of 8 fraction bits",
        "XNNPACK's qs8-vcvt", "5 to 8 %, by 1",
    ),
    HostRow(
        ("QUANTIZE",), FLOAT, SHIPPED, always(Bound(1, 0.0)), "1 at halves", "rounds a float to even at halves",
        "XNNPACK's f32-qs8-vcvt; LiteRT's optimized_ops.h:AffineQuantize", "none to int8, 0.03 % to int16, by 1",
    ),
    HostRow(
        ("QUANTIZE",), FLOAT, PLAIN, always(EQUAL), "0", SAME_CODE, "reference/quantize.h", "none of 34,560",
    ),
    HostRow(("QUANTIZE",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "reference/requantize.h", "none of 102,400"),
    HostRow(
        ("DEQUANTIZE",), WHOLE, BOTH, always(EQUAL), "0", SAME_CODE, "reference/dequantize.h", "none of 15,360",
    ),
    HostRow(COPIES, (), BOTH, always(EQUAL), "0", "takes elements as they are", "", "none"),
    HostRow(EXACT, (), BOTH, always(EQUAL), "0", "computes with whole numbers", "", "none"),
)  # fmt: skip
