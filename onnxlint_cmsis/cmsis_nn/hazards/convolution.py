"""The general convolution kernels: groups, dilation, 16-bit variables."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import (
    Condition,
    all_of,
    any_of,
    equal,
    greater,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.names import (
    COLS,
    CTX_SIZE,
    DILATION_H,
    DILATION_W,
    FILTER_C,
    FILTER_H,
    FILTER_W,
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
    TAPS,
)
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, CONVOLUTION, MVE_ONLY, NOT_MVE, Hazard, Origin
from onnxlint_cmsis.cmsis_nn.terms import Term, minimum, named, round_up
from onnxlint_cmsis.types import Isa

_5_8, _5_9 = "cmsis5-5.8.0", "cmsis5-5.9.0"
_S8 = "arm_convolve_s8"
_ENTRIES_S8 = ("convolve_s8", "depthwise_s8", "transpose_conv_s8")

_GROUPED = unequal(IN_C, FILTER_C)
_GROUPS = named("groups", IN_C // FILTER_C)
_GROUP_COLS = TAPS * FILTER_C
# arm_convolve_s8 on MVE fills up to 4 rows of one group, each aligned to 4 bytes, the last to its end alone.
_WRITTEN = (minimum(OUT_H * OUT_W, 4) - 1) * round_up(_GROUP_COLS, 4) + _GROUP_COLS


def _at(kernel: str, lines: dict[str, int], isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
    return Origin(f"{CONVOLUTION}{kernel}.c", kernel, lines, isas)


def _beyond_16_bit(*sizes: Term) -> Condition:
    return any_of(*(greater(size, 65535) for size in sizes))


_DEF_S8 = {_5_8: 51, _5_9: 51, "4.0.0": 51, "4.1.0": 50, "5.0.0": 50, "6.0.0": 49, "7.0.0": 49, "main": 49}
_DEF_S16 = {_5_9: 51, "4.0.0": 51, "4.1.0": 51, "5.0.0": 51, "6.0.0": 50, "7.0.0": 50, "main": 50}
_DEF_S4 = {"5.0.0": 50, "6.0.0": 50, "7.0.0": 50, "main": 50}
_BEFORE_GROUPS = {release: _DEF_S8[release] for release in (_5_8, _5_9, "4.0.0", "4.1.0", "5.0.0")}

HAZARDS = (
    Hazard(
        id="conv-dilation-ignored",
        kind="wrong",
        entries=("convolve_s8", "depthwise_s8"),
        kernels=(),
        origin=_at(_S8, {_5_8: 51}),
        when=any_of(greater(DILATION_H, 1), greater(DILATION_W, 1)),
        evidence="read in the source",
        what="No kernel of this release reads the dilation: a dilated layer is computed undilated.",
    ),
    Hazard(
        id="conv-grouped-as-dense",
        kind="wrong",
        entries=("convolve_s8",),
        kernels=(),
        origin=_at(_S8, _BEFORE_GROUPS),
        when=_GROUPED,
        evidence="reproduced with the real library on an emulated Cortex-M",
        what="The kernels of this release never read filter_dims.c: a grouped convolution is computed as a dense one.",
        way_round="Split the layer into one convolution per group.",
    ),
    Hazard(
        id="conv-s16-grouped-as-dense",
        kind="wrong",
        entries=("convolve_s16",),
        kernels=(),
        origin=_at("arm_convolve_s16", _DEF_S16),
        when=_GROUPED,
        evidence="read in the source",
        what="The s16 kernels never read filter_dims.c: a grouped convolution is computed as a dense one.",
        way_round="Split the layer into one convolution per group.",
    ),
    Hazard(
        id="conv-s4-grouped-as-dense",
        kind="wrong",
        entries=("convolve_s4",),
        kernels=(),
        origin=_at("arm_convolve_s4", _DEF_S4),
        when=_GROUPED,
        evidence="read in the source",
        what="The s4 kernels compute no groups: a grouped convolution is computed as a dense one.",
        way_round="Split the layer into one convolution per group.",
    ),
    Hazard(
        id="conv-grouped-no-scratch",
        kind="error",
        entries=("convolve_s8",),
        kernels=(_S8,),
        origin=_at(_S8, {"6.0.0": 63, "7.0.0": 64}),
        when=all_of(_GROUPED, equal(CTX_SIZE, 0)),
        evidence="reproduced on a host build of the library; reported upstream (pull request 200)",
        what="The size function answers 0 for a grouped 1x1 layer, but arm_convolve_s8 runs it and returns "
        "ARM_CMSIS_NN_ARG_ERROR without a buffer.",
        way_round="Split the layer into one convolution per group.",
        status=-1,
    ),
    Hazard(
        id="conv-groups-undefined",
        kind="error",
        entries=("convolve_s8",),
        kernels=(_S8,),
        origin=_at(_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(equal(FILTER_C, 0), greater(FILTER_C, IN_C)),
        evidence="reproduced on a host build of the library",
        what="The kernel divides by filter_dims.c and by the number of groups, one of which is zero.",
        status=None,
    ),
    Hazard(
        id="conv-groups-not-even",
        kind="error",
        entries=("convolve_s8",),
        kernels=(_S8,),
        origin=_at(_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(unequal(IN_C % _GROUPS, 0), unequal(OUT_C % _GROUPS, 0)),
        evidence="reproduced on a host build of the library",
        what="The channels do not divide by the number of groups: ARM_CMSIS_NN_ARG_ERROR.",
        way_round="Choose input and output channels that the number of groups divides.",
        status=-1,
    ),
    Hazard(
        id="conv-grouped-1xn-scratch",
        kind="overrun",
        entries=("convolve_s8",),
        kernels=(_S8,),
        origin=_at(_S8, {"6.0.0": 49, "7.0.0": 49}, MVE_ONLY),
        when=all_of(_GROUPED, greater(CTX_SIZE, 0), greater(_WRITTEN, CTX_SIZE)),
        evidence="reproduced on a host build of the library; reported upstream (pull request 200)",
        what="The size function answers the 1xN kernel's size for a grouped 1xN layer, but arm_convolve_s8 runs it "
        "and writes past that buffer.",
        way_round="Split the layer into one convolution per group.",
    ),
    Hazard(
        id="conv-16-bit-sizes",
        kind="narrow",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, _DEF_S8),
        when=_beyond_16_bit(
            IN_H, IN_W, IN_C, FILTER_H, FILTER_W, OUT_H, OUT_W, OUT_C, STRIDE_H, STRIDE_W, PAD_H, PAD_W
        ),
        evidence="read in the source",
        what="arm_convolve_s8 keeps sizes, strides and paddings in 16-bit variables; one of them is above 65535.",
    ),
    Hazard(
        id="conv-16-bit-columns",
        kind="narrow",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, _DEF_S8, NOT_MVE),
        when=greater(COLS, 65535),
        evidence="read in the source",
        what="arm_convolve_s8 counts filter_dims.h * filter_dims.w * input_dims.c in a 16-bit variable for the odd "
        "last column; it is above 65535.",
    ),
)
