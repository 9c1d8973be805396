"""Depthwise layers of f32 and f16: routes and scratch."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    CH_MULT,
    COLS,
    CTX_SIZE,
    FILTER,
    IN,
    NO_PADDING,
    OUT,
    TAPS,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, at_least, equal, greater
from onnxlint_cmsis.cmsis_nn.float.both_types import F16, FLOAT_TYPES, SUPPORT, FloatType, sized
from onnxlint_cmsis.cmsis_nn.float.convolution import ABSENT, POSITIONS, convolution_sizes, tile_bytes
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, MVE_ONLY, Branch, Delegation, Origin, ScratchSize, Wrapper
from onnxlint_cmsis.cmsis_nn.terms import minimum, round_up, term

_DEPTHWISE = f"{CONVOLUTION}arm_depthwise_conv"
_MOST_WINDOWS = 4
"""Rows of a tile: ARM_NN_DW_NT_T_*_TILE_ROWS."""
_THRESHOLDS = {"gcc": 1, "armclang": 8}
"""Output channels from which MVE code makes a convolution of one input channel (arm_nnsupportfunctions.h:83-87)."""
_SINGLE = all_of(equal(CH_MULT, 1), UNIT_DILATION)

_K3 = all_of(
    equal(IN.n, 1),
    equal(OUT.n, 1),
    equal(FILTER.w, 3),
    equal(FILTER.h, 1),
    equal(IN.h, 1),
    equal(OUT.h, 1),
    _SINGLE,
    UNIT_STRIDE,
    NO_PADDING,
)
"""arm_depthwise_conv_opt_f32.h:98-100."""

_2X5 = all_of(
    equal(FILTER.w, 5), equal(FILTER.h, 2), equal(IN.h, 2), equal(OUT.h, 1), UNIT_DILATION, UNIT_STRIDE, NO_PADDING
)
"""arm_depthwise_conv_opt_f16.h:156-158; f32 has no such kernel."""

_3X3 = all_of(greater(IN.n, 0), equal(IN.n, OUT.n), equal(FILTER.w, 3), equal(FILTER.h, 3), _SINGLE)
"""arm_depthwise_conv_opt_f32.h:154-155."""


def _depthwise_sizes(kind: FloatType) -> tuple[ScratchSize, ...]:
    filter_bytes = round_up(OUT.c, kind.block) * TAPS * kind.bytes
    as_convolution = {"filter_dims.c": IN.c}
    to_conv = [
        row
        for compiler, threshold in _THRESHOLDS.items()
        for case in convolution_sizes(kind)
        for row in sized(
            filter_bytes + case.size.substitute(as_convolution),
            kind.size_function("depthwise_conv", (71, 71), MVE_ONLY)._replace(compilers=(compiler,)),
            all_of(equal(IN.c, 1), at_least(OUT.c, threshold), case.when.substitute(as_convolution)),
        )
    ]
    tile = sized(_MOST_WINDOWS * TAPS * IN.c * kind.bytes, kind.size_function("depthwise_conv", (107, 107)), _SINGLE)
    return (*to_conv, *tile, ScratchSize(term(0), kind.size_function("depthwise_conv", (97, 97))))


def _depthwise_route(kind: FloatType) -> Wrapper:
    function = "arm_depthwise_conv_nhwc_dispatch"
    special = kind.at(_DEPTHWISE, function, (757, 623))._replace(specialized=True)
    filter_bytes = round_up(OUT.c, kind.block) * TAPS * kind.bytes
    two_rows = (Branch(kind.kernel("nn_depthwise_conv2x5_nhwc"), _2X5, special),) if kind is F16 else ()
    to_conv = kind.kernel("depthwise_conv_nhwc_to_conv_packed")
    tiles = kind.kernel("depthwise_conv_nhwc_fast_chmult1_kc_nt_t")

    def origin(f32: int, f16: int) -> Origin:
        return kind.at(_DEPTHWISE, function, (f32, f16))

    row = TAPS * kind.bytes
    rows_behind = minimum((CTX_SIZE - filter_bytes) // row, POSITIONS)  # behind the filter in the buffer
    return Wrapper(
        entry=f"depthwise_{kind.name}",
        function=kind.kernel("depthwise_conv_wrapper"),
        branches=(
            Branch(kind.kernel("nn_depthwise_conv1d_k3_nhwc"), _K3, special),
            *two_rows,
            Branch(kind.kernel("nn_depthwise_conv3x3_nhwc"), _3X3, special),
            Branch(
                tiles,
                all_of(_SINGLE, greater(CTX_SIZE, 0), at_least(CTX_SIZE, TAPS * IN.c * kind.bytes)),
                origin(775, 641),
            ),
            Branch(kind.kernel("depthwise_conv_nhwc_fast_chmult1_kc"), _SINGLE, origin(798, 664)),
            *(
                Branch(
                    to_conv,
                    all_of(
                        equal(IN.c, 1),
                        at_least(OUT.c, threshold),
                        greater(CTX_SIZE, 0),
                        at_least(CTX_SIZE, filter_bytes + TAPS * kind.bytes),
                    ),
                    kind.at(_DEPTHWISE, function, (821, 687), MVE_ONLY)._replace(compilers=(compiler,)),
                )
                for compiler, threshold in _THRESHOLDS.items()
            ),
            Branch(f"arm_depthwise_conv_{kind.name}_generic", TRUE, origin(842, 708)),
        ),
        sizes=_depthwise_sizes(kind),
        params="dw_conv_params",
        absent=ABSENT,
        uses=(
            (tiles, tile_bytes(kind, COLS, _MOST_WINDOWS, OUT.w)),
            (to_conv, filter_bytes + rows_behind * row),
        ),
    )


DEPTHWISE_F32_ROUTE, DEPTHWISE_F16_ROUTE = map(_depthwise_route, FLOAT_TYPES)


def _depthwise_delegations(kind: FloatType) -> tuple[Delegation, ...]:
    plane = kind.at(f"{SUPPORT}arm_nn_depthwise_conv3x3", "arm_nn_depthwise_conv3x3_nhwc", (294, 294))
    square = kind.kernel("nn_depthwise_conv3x3_nhwc")
    tiles, to_conv = "depthwise_conv_nhwc_fast_chmult1_kc_nt_t", "depthwise_conv_nhwc_to_conv_packed"
    return (
        Delegation(square, f"depthwise_conv3x3_nhwc_valid_{kind.name}", plane, all_of(UNIT_STRIDE, NO_PADDING)),
        Delegation(square, f"depthwise_conv3x3_nhwc_generic_{kind.name}", plane),
        Delegation(
            kind.kernel(tiles), kind.kernel("nn_depthwise_conv_nt_t"), kind.at(_DEPTHWISE, f"arm_{tiles}", (595, 228))
        ),
        Delegation(
            kind.kernel(to_conv),
            kind.kernel("nn_mat_mult_nt_n_packed"),
            kind.at(_DEPTHWISE, f"arm_{to_conv}", (405, 377)),
        ),
    )


DEPTHWISE_DELEGATIONS = tuple(row for kind in FLOAT_TYPES for row in _depthwise_delegations(kind))
