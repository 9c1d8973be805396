"""Hazards of the 1x1 convolution kernels, which know no padding after."""

from onnxlint_cmsis.cmsis_nn.arguments import IN, OUT, PAD_AFTER, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import all_of, any_of, at_least, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import kernel_at
from onnxlint_cmsis.ground.words import RETRAIN

_NO_PAD_AFTER = f"Let the runtime pad in a separate layer. A padding of 0 after works, too, but {RETRAIN}."


# What is asked for after reaches at least that far less stride - 1, and never farther.
_AFTER_FAST = any_of(unequal(PAD_AFTER.h, 0), unequal(PAD_AFTER.w, 0))
_PAST_H, _PAST_W = at_least((OUT.h - 1) * STRIDE.h, IN.h), at_least((OUT.w - 1) * STRIDE.w, IN.w)
_PAST = any_of(_PAST_H, _PAST_W)

_AFTER = any_of(
    all_of(at_least(PAD_AFTER.h, 1), any_of(at_least(PAD_AFTER.h, STRIDE.h), _PAST_H)),
    all_of(at_least(PAD_AFTER.w, 1), any_of(at_least(PAD_AFTER.w, STRIDE.w), _PAST_W)),
)

_DEF_FAST = {V5_8: 53, V5_9: 54, "4.0.0": 73, "4.1.0": 50, "5.0.0": 50, "6.0.0": 50, "7.0.0": 49, "main": 49}
_DEF_1X1 = {"4.0.0": 86, "4.1.0": 50, "5.0.0": 50, "6.0.0": 50, "7.0.0": 50, "main": 50}
_DEF_S4 = {"5.0.0": 50, "6.0.0": 50, "7.0.0": 50, "main": 50}

_FAST_PADDING_AFTER = Hazard(
    id="conv-1x1-fast-padding-after",
    kind="wrong-result",
    entries=("convolve_s8", "depthwise_s8"),
    origin=kernel_at("arm_convolve_1x1_s8_fast", _DEF_FAST),
    when=any_of(unequal(OUT.h, IN.h), unequal(OUT.w, IN.w)),
    unsized=_AFTER_FAST,
    brief="puts values in the wrong places where there is padding after",
    what="The fast 1x1 kernel never reads output_dims: with padding after, every value behind the first row is "
    "in the wrong place.",
    way_round=_NO_PAD_AFTER,
)

_PADDING_AFTER = Hazard(
    id="conv-1x1-padding-after",
    kind="wrong-result",
    entries=("convolve_s8", "depthwise_s8"),
    origin=kernel_at("arm_convolve_1x1_s8", _DEF_1X1),
    when=_PAST,
    unsized=_AFTER,
    brief="reads past the row where there is padding after",
    what="The 1x1 kernel knows no padding after: the last windows read past the row or the input.",
    way_round=_NO_PAD_AFTER,
)

ONE_BY_ONE_HAZARDS = (
    _FAST_PADDING_AFTER,
    _PADDING_AFTER,
    _FAST_PADDING_AFTER._replace(
        id="conv-1x1-s4-fast-padding-after",
        entries=("convolve_s4",),
        origin=kernel_at("arm_convolve_1x1_s4_fast", _DEF_S4),
        what="The fast s4 1x1 kernel never reads the output's height and width: with padding after, the values are "
        "in the wrong places.",
    ),
    _PADDING_AFTER._replace(
        id="conv-1x1-s4-padding-after",
        entries=("convolve_s4",),
        origin=kernel_at("arm_convolve_1x1_s4", _DEF_S4),
        what="The s4 1x1 kernel knows no padding after: the last windows read past the row or the input.",
    ),
)
