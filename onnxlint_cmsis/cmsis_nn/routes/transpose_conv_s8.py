"""arm_transpose_conv_wrapper_s8: convolution with reversed weights, or the direct kernel."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.expressions import term
from onnxlint_cmsis.cmsis_nn.names import FILTER_H, FILTER_W, IN_H, IN_W, PAD_H, PAD_W, STRIDE_H, STRIDE_W
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.transpose_conv_scratch import REVERSED, TRANSPOSE_CONV_REVERSE, TRANSPOSE_CONV_S8

_FILE = CONVOLUTION + "arm_transpose_conv_wrapper_s8.c"
_FUNCTION = "arm_transpose_conv_wrapper_s8"

_UPSCALED = (
    ("input_dims.h", IN_H * STRIDE_H),
    ("input_dims.w", IN_W * STRIDE_W),
    ("padding.h", FILTER_H - 1 - PAD_H),
    ("padding.w", FILTER_W - 1 - PAD_W),
    ("stride.h", term(1)),
    ("stride.w", term(1)),
    ("dilation.h", term(1)),
    ("dilation.w", term(1)),
)

WRAPPER = Wrapper(
    entry="transpose_conv_s8",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_transpose_conv_s8",
            TRUE,
            Origin(
                CONVOLUTION + "arm_transpose_conv_s8.c",
                "arm_transpose_conv_s8",
                {"5.0.0": 49, "6.0.0": 49},
                until="7.0.0",
            ),
        ),
        Branch("arm_convolve_s8", REVERSED, Origin(_FILE, _FUNCTION, {"7.0.0": 73, "main": 73}), binds=_UPSCALED),
        Branch("arm_transpose_conv_s8", TRUE, Origin(_FILE, _FUNCTION, {"7.0.0": 141, "main": 141})),
    ),
    sizes=TRANSPOSE_CONV_S8,
    reverse_sizes=TRANSPOSE_CONV_REVERSE,
    params="transpose_conv_params",
    absent="transposed convolution came with 5.0.0",
)
