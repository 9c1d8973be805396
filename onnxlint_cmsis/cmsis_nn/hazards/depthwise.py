"""The depthwise kernels: 3x3 with padding, windows outside the input, channels that do not match."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import any_of, at_least, greater, unequal
from onnxlint_cmsis.cmsis_nn.names import (
    FILTER_H,
    IN_C,
    IN_H,
    IN_W,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
)
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, CONVOLUTION, NOT_MVE, Hazard, Origin
from onnxlint_cmsis.types import Isa

_5_8, _5_9 = "cmsis5-5.8.0", "cmsis5-5.9.0"
_FROM_4_1 = ("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")
_3X3, _OPT = "arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt"
_FAST_S16, _OPT_S4 = "arm_depthwise_conv_fast_s16", "arm_depthwise_conv_s4_opt"
_PAD_BEFORE = "Put an explicit Pad before the layer."
_DSP = (Isa.DSP,)
_HOST = "reproduced on a host build of the library"

_OUTSIDE = any_of(greater(PAD_H, FILTER_H), greater((OUT_H - 1) * STRIDE_H - PAD_H, IN_H))
_OUTSIDE_WHAT = (
    "A window lies wholly above or below the input by at least one row; the kernel then clears more rows than its "
    "scratch buffer has."
)


def _at(kernel: str, lines: dict[str, int], isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
    return Origin(f"{CONVOLUTION}{kernel}.c", kernel, lines, isas)


def _channels(name: str, entry: str, origin: Origin, status: int = -1) -> Hazard:
    return Hazard(
        id=name,
        kind="error",
        entries=(entry,),
        kernels=(origin.function,),
        origin=origin,
        when=unequal(IN_C, OUT_C),
        evidence="read in the source",
        what="The kernel for channel multiplier 1 returns an error where input and output channels differ.",
        status=status,
    )


def _outside(name: str, kernel: str, entry: str, lines: dict[str, int], isas: tuple[Isa, ...]) -> Hazard:
    return Hazard(
        id=name,
        kind="overrun",
        entries=(entry,),
        kernels=(kernel,),
        origin=_at(kernel, lines, isas),
        when=_OUTSIDE,
        evidence=_HOST,
        what=_OUTSIDE_WHAT,
        way_round=_PAD_BEFORE,
    )


_RELEASES = (_5_8, _5_9, "4.0.0", *_FROM_4_1)
_DEF_3X3 = dict.fromkeys(_RELEASES, 52)
_DEF_OPT = dict.fromkeys(_RELEASES, 51)
_FROM_4, _FROM_5 = _RELEASES[2:], _FROM_4_1[1:]

HAZARDS = (
    # CMSIS 5 answers ARM_MATH_SIZE_MISMATCH (-3), its successor ARM_CMSIS_NN_ARG_ERROR (-1).
    _channels("dw-3x3-channels-mismatch", "depthwise_s8", _at(_3X3, {_5_8: 85, _5_9: 85}, NOT_MVE), -3),
    _channels("dw-3x3-channels-differ", "depthwise_s8", _at(_3X3, dict.fromkeys(_FROM_4, 85), NOT_MVE)),
    Hazard(
        id="dw-3x3-padding-refused",
        kind="error",
        entries=("depthwise_s8",),
        kernels=(_3X3,),
        origin=_at(_3X3, {_5_8: 90}, NOT_MVE),
        when=greater(PAD_W, 1),
        evidence=_HOST,
        what="The wrapper of this release tests only padding.h before it takes the 3x3 kernel, which returns an "
        "argument error for padding.w above 1.",
        way_round=_PAD_BEFORE,
        status=-1,
    ),
    Hazard(
        id="dw-3x3-padding-after",
        kind="wrong",
        entries=("depthwise_s8",),
        kernels=(_3X3,),
        origin=_at(_3X3, _DEF_3X3, NOT_MVE),
        when=at_least((OUT_W - 1) * STRIDE_W - PAD_W + 1, IN_W),
        evidence="reproduced with the real library on an emulated Cortex-M",
        what="The 3x3 kernel reads the middle column of its window without a test: with a padding of 2 or more on the "
        "right the last column reads past the row.",
        way_round=_PAD_BEFORE,
    ),
    _channels("dw-opt-channels-differ", "depthwise_s8", _at(_OPT, {"4.0.0": 68, **dict.fromkeys(_FROM_4_1, 67)})),
    _outside("dw-opt-window-outside", _OPT, "depthwise_s8", _DEF_OPT, _DSP),
    _channels("dw-fast-s16-channels-differ", "depthwise_s16", _at(_FAST_S16, dict.fromkeys(_FROM_4, 67))),
    _outside("dw-fast-s16-window-outside", _FAST_S16, "depthwise_s16", dict.fromkeys(_FROM_4, 51), _DSP),
    _channels("dw-s4-opt-channels-differ", "depthwise_s4", _at(_OPT_S4, dict.fromkeys(_FROM_5, 69))),
    _outside("dw-s4-opt-window-outside", _OPT_S4, "depthwise_s4", dict.fromkeys(_FROM_5, 51), NOT_MVE),
)
