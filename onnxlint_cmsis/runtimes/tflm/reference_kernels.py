"""Operators without a CMSIS-NN kernel: what their Prepare asks for, where that is known."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.runtimes.tflm.convolution_checks import INTEGER
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation

ASKS_NOTHING = frozenset(
    {
        "RESHAPE", "CONCATENATION", "STRIDED_SLICE", "LEAKY_RELU", "LOGISTIC", "RELU", "HARD_SWISH", "QUANTIZE",
        "DEQUANTIZE", "SUB",
    }
)  # fmt: skip
"""Reference kernels whose Prepare asks for no memory (measured)."""


def mean(p: Preparation) -> None:
    """K/reduce_common.cc, PrepareMeanOrSumHelper."""
    data = p.needed_input(0, "reduce_common.cc:225", "input")
    axes = p.needed_input(1, "reduce_common.cc:225", "axis")
    output = p.needed_output("reduce_common.cc:225")
    if data.elem_type in INTEGER:
        p.request(4 * prod(output.shape))
    p.request(4 * len(data.shape))
    p.request(4 * prod(axes.shape))
    p.reference = "MEAN has no CMSIS-NN kernel"


def reference(p: Preparation) -> None:
    """A kernel of TensorFlow Lite Micro's own."""
    p.reference = f"{p.view.operator.op} has no CMSIS-NN kernel"
    p.memory_known = p.view.operator.op in ASKS_NOTHING
