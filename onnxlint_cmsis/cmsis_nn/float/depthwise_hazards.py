"""Depthwise kernels that never compare a column or row with the size of the input. Each call returns success."""

from onnxlint_cmsis.cmsis_nn.arguments import IN, OUT
from onnxlint_cmsis.cmsis_nn.conditions import any_of, greater
from onnxlint_cmsis.cmsis_nn.float.both_types import SUPPORT, at, of_types
from onnxlint_cmsis.cmsis_nn.float.convolution_hazards import NEVER_COMPARED, READS_BEHIND
from onnxlint_cmsis.cmsis_nn.hazard import Hazard

_WIDE, _HIGH = greater(OUT.w, IN.w - 2), greater(OUT.h, IN.h - 2)

_DEPTHWISE_OVERREADS = (
    (
        "dw-k3-padding-after",
        at(f"{SUPPORT}arm_nn_depthwise_conv1d_k3", "arm_nn_depthwise_conv1d_k3_nhwc", f32=35, f16=35),
        _WIDE,
    ),
    (
        "dw-3x3-padding-after",
        at(f"{SUPPORT}arm_nn_depthwise_conv3x3", "depthwise_conv3x3_nhwc_valid", f32=139, f16=139),
        any_of(_WIDE, _HIGH),
    ),
    (
        "dw-2x5-padding-after",
        at(f"{SUPPORT}arm_nn_depthwise_conv2x5", "arm_nn_depthwise_conv2x5_nhwc", f16=51),
        greater(OUT.w, IN.w - 4),
    ),
)

DEPTHWISE_HAZARDS = of_types(
    *(
        Hazard(
            name,
            "wrong-result",
            ("depthwise",),
            origin,
            when,
            READS_BEHIND,
            NEVER_COMPARED,
            way_round="Pad by arm_pad_* in front of the layer.",
        )
        for name, origin, when in _DEPTHWISE_OVERREADS
    )
)
