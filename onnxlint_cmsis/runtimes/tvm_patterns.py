"""The patterns by which TVM's partitioner finds layers for CMSIS-NN, as its RFC 0015 planned them.

Read at 513c2be0 (python/tvm/relay/op/contrib/cmsisnn.py).
tvm_conditions.py has the layers that a pattern does not take.
"""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple

FILE = "python/tvm/relay/op/contrib/cmsisnn.py"


class PartitionPattern(NamedTuple):
    """One kind of layer in the RFC, and its pattern in TVM."""

    layer: str
    """Kind of layer."""
    ops: tuple[str, ...]
    """Operators in TensorFlow Lite's words."""
    relay: str
    """Operators of Relay in order; empty without a pattern."""
    functions: tuple[str, ...]
    """Functions that are called."""
    taken: str
    """Conditions of the check of the pattern."""
    lines: str
    """Lines of FILE."""


_REQUANTIZED = "`nn.bias_add` or none, `qnn.requantize`, `clip` or none"
_INTEGERS = "int8 or int16 alike"

PATTERNS = (
    PartitionPattern(
        "softmax", ("SOFTMAX",), "`qnn.dequantize`, `nn.softmax`, `qnn.quantize`",
        ("arm_softmax_s8", "arm_softmax_s16"),
        "int8 to int8 of scale 1/256 and zero-point -128; int16 to int16 of 1/32768 and 0", "75-103",
    ),
    PartitionPattern(
        "convolution", ("CONV_2D",), f"`nn.pad` or none, `qnn.conv2d`, {_REQUANTIZED}",
        ("arm_convolve_wrapper_s8", "arm_convolve_wrapper_s16"),
        "constant int8 weights of zero-point 0, with one scale or one for each output; int8 with int32 bias, int16 "
        "with int64 bias and zero-point 0; a Pad in front whose amount after is that before or one more",
        "105-221",
    ),
    PartitionPattern(
        "depthwise convolution", ("DEPTHWISE_CONV_2D",), "as a convolution",
        ("arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_wrapper_s16"), "as a convolution, with a bias",
        "142-150, 190",
    ),
    PartitionPattern(
        "fully connected", ("FULLY_CONNECTED",), f"`qnn.dense`, {_REQUANTIZED}",
        ("arm_fully_connected_s8", "arm_fully_connected_s16"),
        "constant int8 weights of zero-point 0; int8 with int32 bias, int16 with int64 bias", "223-277",
    ),
    PartitionPattern(
        "average pool", ("AVERAGE_POOL_2D",), "`cast`, `nn.avg_pool2d`, `cast`, `clip` or none",
        ("arm_avgpool_s8", "arm_avgpool_s16"), f"{_INTEGERS}, NHWC, one image", "279-304",
    ),
    PartitionPattern(
        "max pool", ("MAX_POOL_2D",), "`nn.max_pool2d`, `clip` or none", ("arm_max_pool_s8", "arm_max_pool_s16"),
        f"{_INTEGERS}, NHWC, one image", "306-329",
    ),
    PartitionPattern("product of two activations", ("BATCH_MATMUL",), "", (), "", "385-394"),
    PartitionPattern(
        "sum", ("ADD",), "`qnn.add`, `clip` or none", ("arm_elementwise_add_s8", "arm_elementwise_add_s16"),
        f"{_INTEGERS}, int16 of zero-point 0; not two constants without axes", "331-383",
    ),
    PartitionPattern(
        "product", ("MUL",), "`qnn.mul`, `clip` or none", ("arm_elementwise_mul_s8", "arm_elementwise_mul_s16"),
        f"{_INTEGERS}, int16 of zero-point 0; not two constants without axes", "331-383",
    ),
)  # fmt: skip
"""The RFC names all but sum and product, which the code added."""
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
WEIGHTED = (*CONVOLUTIONS, "FULLY_CONNECTED")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PAIRS = ("ADD", "MUL")
PARTITIONED = tuple(op for row in PATTERNS if row.relay for op in row.ops)
"""Operators with a pattern."""
