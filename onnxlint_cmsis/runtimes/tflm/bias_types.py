"""Types of a bias, and what kernels of TensorFlow Lite Micro without a check of them read.

Kernels that ask for the type have rows in the file of their family. Lines are those of reference code of revision
90b983c2; kernels with CMSIS-NN read the same types (cmsis_nn/depthwise_conv.cc:297, :367, fully_connected.cc:246, :287,
transpose_conv.cc:387, :468).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.runtimes.tflm.broken_conditions import KernelOutcome
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, OperatorView
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, Objection, condition


@condition
def bias_read_as(view: OperatorView, data: int, bias: int, kind: str, *types: str) -> Objection | None:
    """The bias of sums of a type has one of the types that the kernel reads, the first where it asks for none."""
    activation, held = view.input(data), view.input(bias)
    if activation is None or held is None or activation.elem_type != kind or held.elem_type in types:
        return None
    past = ", past its end" if BITS.get(types[0], 0) > BITS.get(held.elem_type, 0) else ""
    return f"its bias '{held.name}' is {held.elem_type}, and the kernel reads {types[0]}{past}"


_TABLE = (
    ("CONV_2D", "conv.cc:175", bias_read_as(0, 2, "INT8", "INT32")),
    ("DEPTHWISE_CONV_2D", "depthwise_conv.cc:128", bias_read_as(0, 2, "INT8", "INT32")),
    ("DEPTHWISE_CONV_2D", "depthwise_conv.cc:161", bias_read_as(0, 2, "INT16", "INT64")),
    ("FULLY_CONNECTED", "fully_connected.cc:223", bias_read_as(0, 2, "INT8", "INT32")),
    ("FULLY_CONNECTED", "fully_connected.cc:330", bias_read_as(0, 2, "INT16", "INT64", "INT32")),
    ("TRANSPOSE_CONV", "transpose_conv.cc:335", bias_read_as(2, 3, "INT8", "INT32")),
    ("TRANSPOSE_CONV", "transpose_conv.cc:392", bias_read_as(2, 3, "INT16", "INT64", "INT16")),
)
BIASED: Mapping[str, tuple[KernelLimit, ...]] = MappingProxyType(
    {
        op: tuple(KernelLimit(source, KernelOutcome.WRONG, asked) for name, source, asked in _TABLE if name == op)
        for op, _, _ in _TABLE
    }
)
"""Rows by operator, asked behind those of its kernel."""
