"""Which way a convolution of f32 or f16 goes: arm_convolve_wrapper_* hands everything to arm_convolve_nhwc_*.

Read at commit 99f736a6, `main`; the functions came with 91f84c80. Both types have the same code, written twice, but for
the block of packed weights and the lines. `f32` and `f16` name the rows of each.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    COLS,
    CTX_SIZE,
    FILTER,
    FILTER_1X1,
    IN,
    NO_PADDING,
    NOT_GROUPED,
    OUT,
    PACKED,
    PAD,
    STRIDE,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    Condition,
    all_of,
    any_of,
    at_least,
    equal,
    greater,
    not_,
)
from onnxlint_cmsis.cmsis_nn.float.both_types import (
    FLOAT_TYPES,
    FloatType,
    Lines,
    sized,
)
from onnxlint_cmsis.cmsis_nn.rows import (
    CONVOLUTION,
    Branch,
    Delegation,
    Origin,
    ScratchSize,
    Wrapper,
)
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, minimum, named, term

ABSENT = "functions for f32 and f16 came after 7.0.0 (commit 91f84c80)"
CONVOLVE, POINTWISE = f"{CONVOLUTION}arm_convolve", f"{CONVOLUTION}arm_convolve_1x1"
ROW = f"{CONVOLUTION}arm_convolve_1_x_n"
_MOST_ROWS = 8
"""Rows of a tile (arm_conv_opt_common.h)."""
POSITIONS = named("output positions", OUT.h * OUT.w)
_ONE_ROW = all_of(equal(IN.h, 1), equal(OUT.h, 1), equal(FILTER.h, 1))
_SAME_PLANE = all_of(UNIT_STRIDE, equal(OUT.h, IN.h), equal(OUT.w, IN.w))
ONE_BY_ONE = all_of(FILTER_1X1, NO_PADDING)
ONE_BY_N = all_of(
    _ONE_ROW, greater(FILTER.w, 1), equal(STRIDE.h, 1), greater(STRIDE.w, 0), equal(PAD.h, 0), UNIT_DILATION
)
_CONV1D_WIDTHS = any_of(equal(FILTER.w, 3), equal(FILTER.w, 5))
_SIZED_AS_1XN = all_of(ONE_BY_N, not_(all_of(equal(IN.n, 1), _CONV1D_WIDTHS, equal(STRIDE.w, 1), equal(PAD.w, 0))))
"""What the size function takes for the 1xN kernel, whatever NN_DISABLE_SPECIALIZATION says."""


def _conv1d(taps: int) -> Condition:
    """Shapes that arm_nn_conv1d_k3 and _k5 take (arm_conv_opt_f32.h:99, 170)."""
    return all_of(equal(IN.n, 1), _ONE_ROW, equal(FILTER.w, taps), UNIT_STRIDE, NO_PADDING, UNIT_DILATION)


def _tiles(kind: FloatType, depth: Term) -> Condition:
    """What both functions that gather windows into tiles ask (arm_convolve_f32.c:73-85)."""
    worth = (at_least(depth, 16), at_least(OUT.c, 8), at_least(POSITIONS, 8))
    return all_of(greater(CTX_SIZE, 0), *worth, at_least(CTX_SIZE, depth * kind.bytes))


def tile_bytes(kind: FloatType, depth: Term, most: int, rows: Term) -> Term:
    """Bytes that a tile of windows takes: as many rows as fit, as there are, and as the function handles."""
    return minimum(minimum(CTX_SIZE // (depth * kind.bytes), rows), most) * (depth * kind.bytes)


def _row_bytes(kind: FloatType) -> Term:
    """Bytes that the 1xN kernel gathers at most: rows of windows that reach into the padding."""
    after = (OUT.w - 1) * STRIDE.w - PAD.w + FILTER.w - IN.w
    padded = minimum(maximum(PAD.w, 0) + maximum(after, 0), 1)
    return padded * minimum(CTX_SIZE // (COLS * kind.bytes), OUT.w) * (COLS * kind.bytes)


def convolution_sizes(kind: FloatType) -> tuple[ScratchSize, ...]:
    """arm_convolve_*_get_buffer_size: the same number whatever the kernel then takes of it."""
    return (
        *pointwise_sizes(kind, ONE_BY_ONE),
        *_row_sizes(kind, _SIZED_AS_1XN),
        *sized(_MOST_ROWS * COLS * kind.bytes, kind.size_function("convolve", (163, 163))),
    )


def pointwise_sizes(kind: FloatType, when: Condition) -> tuple[ScratchSize, ...]:
    """arm_convolve_1x1_*_get_buffer_size, which the function for all convolutions calls too."""
    origin = kind.size_function("convolve_1x1", (207, 207))
    return (
        ScratchSize(term(0), kind.size_function("convolve_1x1", (201, 201)), all_of(when, _SAME_PLANE)),
        *sized(_MOST_ROWS * IN.c * kind.bytes, origin, when),
    )


def _row_sizes(kind: FloatType, when: Condition) -> tuple[ScratchSize, ...]:
    origin = kind.size_function("convolve_1_x_n", (236, 236))
    grouped = ScratchSize(term(0), kind.size_function("convolve_1_x_n", (228, 228)), all_of(when, not_(NOT_GROUPED)))
    return grouped, *sized(FILTER.w * IN.c * kind.bytes, origin, when)


def _route(kind: FloatType) -> Wrapper:
    def origin(f32: int, f16: int, *, specialized: bool = False) -> Origin:
        return kind.at(CONVOLVE, "arm_convolve_nhwc", (f32, f16))._replace(specialized=specialized)

    row = FILTER.w * IN.c * kind.bytes
    return Wrapper(
        entry=f"convolve_{kind.name}",
        function=kind.kernel("convolve_wrapper"),
        branches=(
            Branch(kind.kernel("convolve_1x1_nhwc"), ONE_BY_ONE, origin(302, 304)),
            # The source asks for 1xN first, and there leaves the shapes of these kernels to them.
            *(
                Branch(
                    kind.kernel(f"nn_conv1d_k{taps}_{form}"),
                    all_of(_conv1d(taps), equal(PACKED, packed)),
                    origin(316, 318, specialized=True),
                )
                for taps in (5, 3)
                for form, packed in (("packed", 1), ("nhwc", 0))
            ),
            Branch(
                kind.kernel("convolve_1_x_n_nhwc"),
                all_of(greater(CTX_SIZE, 0), ONE_BY_N, NOT_GROUPED, at_least(CTX_SIZE, row)),
                origin(316, 318),
            ),
            Branch(kind.kernel("convolve_nhwc_patch_gemm"), _tiles(kind, COLS), origin(350, 352)),
            Branch(kind.kernel("convolve_nhwc"), TRUE, origin(362, 364)),
        ),
        sizes=convolution_sizes(kind),
        absent=ABSENT,
        uses=(
            (kind.kernel("convolve_1x1_nhwc_patch_gemm"), tile_bytes(kind, IN.c, _MOST_ROWS, POSITIONS)),
            (kind.kernel("convolve_1_x_n_nhwc"), _row_bytes(kind)),
            (kind.kernel("convolve_nhwc_patch_gemm"), tile_bytes(kind, COLS, _MOST_ROWS, POSITIONS)),
        ),
    )


def _alone(kind: FloatType, name: str, path: str, lines: Lines, sizes: tuple[ScratchSize, ...]) -> Wrapper:
    """A public function for one kernel, called by itself."""
    origin = kind.at(path, f"arm_{name}", lines)
    return Wrapper(
        entry=f"{name}_{kind.name}",
        function=kind.kernel(name),
        branches=(Branch(kind.kernel(f"{name}_nhwc"), TRUE, origin),),
        sizes=sizes,
        absent=ABSENT,
        uses=_route(kind).uses,
    )


def _no_size(kind: FloatType, name: str, lines: Lines) -> tuple[ScratchSize, ...]:
    """What the size function of one kernel answers for shapes that the kernel refuses."""
    return (ScratchSize(term(0), kind.size_function(name, lines)),)


CONVOLVE_F32_ROUTE, CONVOLVE_F16_ROUTE = map(_route, FLOAT_TYPES)
CONVOLVE_1X1_F32_ROUTE, CONVOLVE_1X1_F16_ROUTE = (
    _alone(
        kind,
        "convolve_1x1",
        POINTWISE,
        (290, 291),
        (*pointwise_sizes(kind, ONE_BY_ONE), *_no_size(kind, "convolve_1x1", (198, 198))),
    )
    for kind in FLOAT_TYPES
)
CONVOLVE_1_X_N_F32_ROUTE, CONVOLVE_1_X_N_F16_ROUTE = (
    _alone(
        kind,
        "convolve_1_x_n",
        ROW,
        (378, 411),
        (*_row_sizes(kind, ONE_BY_N), *_no_size(kind, "convolve_1_x_n", (233, 233))),
    )
    for kind in FLOAT_TYPES
)


def products(kind: FloatType, kernel: str, path: str, function: str, lines: Lines) -> tuple[Delegation, ...]:
    """A function that multiplies matrices by one of two functions, as the form of the weights says."""
    origin = kind.at(path, function, lines)
    packed, plain = kind.kernel("nn_mat_mult_nt_n_packed"), kind.kernel("nn_mat_mult_nt_t")
    return (
        Delegation(kind.kernel(kernel), packed, origin, equal(PACKED, 1)),
        Delegation(kind.kernel(kernel), plain, origin),
    )


def _delegations(kind: FloatType) -> tuple[Delegation, ...]:
    tiles, pointwise = kind.kernel("convolve_1x1_nhwc_patch_gemm"), kind.kernel("convolve_1x1_nhwc")
    taken = all_of(not_(_SAME_PLANE), _tiles(kind, IN.c))
    return (
        Delegation(pointwise, tiles, kind.at(POINTWISE, "arm_convolve_1x1_nhwc", (235, 235)), taken),
        *products(kind, "convolve_1x1_nhwc", POINTWISE, "arm_convolve_1x1_mat_mul", (80, 80)),
        *products(kind, "convolve_1x1_nhwc_patch_gemm", POINTWISE, "arm_convolve_1x1_mat_mul", (80, 80)),
        *products(kind, "convolve_nhwc_patch_gemm", CONVOLVE, "arm_convolve_patch_mat_mul", (105, 105)),
    )


CONVOLUTION_DELEGATIONS = tuple(row for kind in FLOAT_TYPES for row in _delegations(kind))
