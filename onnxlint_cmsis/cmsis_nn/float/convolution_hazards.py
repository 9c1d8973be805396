"""What goes wrong in convolutions of f32 and f16: each call returns success, but those of one kernel by itself."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    COLS,
    CTX_SIZE,
    FILTER,
    IN,
    NOT_GROUPED,
    OFFSET_H,
    OFFSET_W,
    OUT,
    PACKED,
    PAD,
    STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    Condition,
    all_of,
    any_of,
    at_least,
    at_most,
    equal,
    greater,
    less,
    not_,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.float.both_types import F16, F32, SUPPORT, FloatType, at, of_types
from onnxlint_cmsis.cmsis_nn.float.convolution import CONVOLVE, ONE_BY_N, ONE_BY_ONE, POINTWISE, ROW
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, MVE_ONLY
from onnxlint_cmsis.cmsis_nn.terms import minimum

_STANDARD = "Give this layer standard weights."
_PAD_FIRST = "Pad by arm_pad_* in front of the layer, which then pads nothing."
_ENTRIES = ("convolve", "convolve_1x1", "convolve_1_x_n")


def _row_overrun(kind: FloatType) -> Condition:
    """Zeros in front of the last gathered window that lies wholly in the padding reach past the buffer.

    Windows are gathered in order, so that zeros past an earlier one are written over.
    """
    rows = minimum(CTX_SIZE // (COLS * kind.bytes), OUT.w)
    last = minimum(rows - 1, (PAD.w - FILTER.w - 1) // STRIDE.w)
    end = (last * (FILTER.w - STRIDE.w) + PAD.w) * (IN.c * kind.bytes)
    return all_of(
        greater(PAD.w, FILTER.w), any_of(greater(PAD.w * IN.c * kind.bytes, CTX_SIZE), greater(end, CTX_SIZE))
    )


_CONV1D = (
    "arm_nn_conv1d_k5_packed",
    "arm_nn_conv1d_k5_nhwc",
    "arm_nn_conv1d_k3_packed",
    "arm_nn_conv1d_k3_nhwc",
)

NEVER_COMPARED = (
    "The kernel is chosen for its padding in front, which is 0, and never compares a position with the size of the "
    "input."
)

READS_BEHIND = "reads past its input where there is padding behind"

CONVOLUTION_HAZARDS = of_types(
    Hazard(
        id="conv-packed-direct",
        kind="wrong-result",
        entries=_ENTRIES,
        origin=at(CONVOLVE, "arm_convolve_nhwc", f32=376, f16=378),
        when=all_of(equal(PACKED, 1), greater(COLS, 1)),
        brief="takes packed weights for standard ones",
        what="The loop without a buffer, which also computes windows of fewer than 16 elements, fewer than 8 "
        "output channels and fewer than 8 output positions, reads the weights in their standard order, whatever "
        "weight_format says.",
        way_round=_STANDARD,
        breach=TRUE,
    ),
    Hazard(
        id="conv-packed-1xn",
        kind="wrong-result",
        entries=_ENTRIES,
        origin=at(ROW, "arm_convolve_1_x_n_nhwc", f32=296, f16=329),
        when=equal(PACKED, 1),
        brief="takes packed weights for standard ones",
        what="The kernel for windows of one row multiplies by arm_nn_mat_mult_nt_t_* alone, whatever "
        "weight_format says.",
        way_round=_STANDARD,
        breach=TRUE,
    ),
    Hazard(
        id="conv1d-padding-after",
        kind="wrong-result",
        entries=_ENTRIES,
        of_kernels=_CONV1D,
        origin=at(f"{SUPPORT}arm_nn_conv1d_k3", "arm_nn_conv1d_k3_nhwc", f32=40, f16=40),
        when=greater(OUT.w, IN.w - FILTER.w + 1),
        brief=READS_BEHIND,
        what=NEVER_COMPARED,
        way_round=_PAD_FIRST,
    ),
    *(
        Hazard(
            id="conv-1xn-padding-overrun",
            kind="overrun",
            entries=_ENTRIES,
            of_kernels=("arm_convolve_1_x_n_nhwc",),
            origin=at(ROW, "arm_convolve_1_x_n_pack_rows", **{kind.name: line}),
            when=_row_overrun(kind),
            brief="writes zeros past its scratch buffer where padding is wider than the window",
            what="A window that lies wholly in the padding gets as many zeros as lie in front of the input, more "
            "than a window has.",
            way_round=_PAD_FIRST,
            breach=greater(PAD.w, FILTER.w),
        )
        for kind, line in ((F32, 214), (F16, 247))
    ),
    Hazard(
        id="conv-grouped",
        kind="wrong-result",
        entries=_ENTRIES,
        of_kernels=(),
        origin=at(CONVOLVE, "arm_convolve_nhwc", f32=376, f16=378),
        when=unequal(FILTER.c, IN.c),
        brief="knows no groups and computes a dense layer",
        what="No function for f32 and f16 looks at filter_dims.c: the layer is computed as if each output read "
        "every input channel, and the reads run past the weights.",
        way_round="Call it once for each group, or pad each group's weights with zeros to all input channels.",
    ),
    Hazard(
        id="conv-1x1-past-input",
        kind="wrong-result",
        entries=_ENTRIES,
        origin=at(POINTWISE, "arm_convolve_1x1_nhwc", f32=252, f16=252),
        when=any_of(at_least((OUT.h - 1) * STRIDE.h, IN.h), at_least((OUT.w - 1) * STRIDE.w, IN.w)),
        brief=READS_BEHIND,
        what=NEVER_COMPARED,
        way_round=_PAD_FIRST,
    ),
    *(
        Hazard(
            id="conv-1xn-refused",
            kind="returns-error",
            entries=("convolve_1_x_n",),
            origin=at(ROW, "arm_convolve_1_x_n_nhwc", **{kind.name: line}),
            when=any_of(
                not_(all_of(ONE_BY_N, NOT_GROUPED)), at_most(CTX_SIZE, 0), less(CTX_SIZE, FILTER.w * IN.c * kind.bytes)
            ),
            brief="returns an error for other shapes and without its buffer",
            what="The kernel for windows of one row takes no others, and needs room for one window.",
            status=-1,
        )
        for kind, line in ((F32, 244), (F16, 277))
    ),
    Hazard(
        id="conv1d-packed-channels-left",
        kind="wrong-result",
        entries=_ENTRIES,
        of_kernels=("arm_nn_conv1d_k5_packed", "arm_nn_conv1d_k3_packed"),
        origin=at(f"{SUPPORT}arm_nn_conv1d_k3_packed", "arm_nn_conv1d_k3_packed", f32=48)._replace(isas=MVE_ONLY),
        when=all_of(unequal(OUT.c % 4, 0), at_least(OUT.w, 2)),
        brief="leaves the last output channels of pairs of columns as they were",
        what="Its MVE code computes two columns at a time, four output channels at once, and has nothing for "
        "channels that are left; the code for f16 has.",
        way_round="Give this layer standard weights, or a multiple of 4 output channels.",
        breach=unequal(OUT.c % 4, 0),
    ),
    Hazard(
        id="tconv-padding-offset",
        kind="wrong-result",
        entries=("transpose_conv",),
        of_kernels=("arm_transpose_conv_wrapper",),
        origin=at(f"{CONVOLUTION}arm_transpose_conv", "arm_transpose_conv_nhwc", f32=149, f16=154),
        when=any_of(unequal(OFFSET_H, 0), unequal(OFFSET_W, 0)),
        brief="moves its output by padding_offsets",
        what="The argument padding_offsets moves each output, where that of arm_transpose_conv_s8 only says how "
        "large the output is. output_dims alone say so here.",
        way_round="Leave padding_offsets 0.",
        caller=True,
    ),
    Hazard(
        id="conv-1x1-refused",
        kind="returns-error",
        entries=("convolve_1x1",),
        origin=at(POINTWISE, "arm_convolve_1x1_nhwc", f32=199, f16=199),
        when=not_(ONE_BY_ONE),
        brief="returns an error for padding and other windows",
        what="The kernel for 1x1 windows takes no other.",
        status=-1,
    ),
)
