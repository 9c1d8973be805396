"""Convolutions and depthwise layers of f32 and f16: routes, scratch, hazards.

Read at commit 99f736a6, `main`; the functions came with 91f84c80. Both types have the same code, written twice, but for
the block of packed weights and the lines. `f32` and `f16` name the rows of each.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    CH_MULT,
    COLS,
    CTX_SIZE,
    FILTER_1X1,
    FILTER_C,
    FILTER_H,
    FILTER_W,
    IN_C,
    IN_H,
    IN_N,
    IN_W,
    NO_PADDING,
    NOT_GROUPED,
    OFFSET_H,
    OFFSET_W,
    OUT_C,
    OUT_H,
    OUT_N,
    OUT_W,
    PACKED,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
    TAPS,
    UNIT_DILATION,
    UNIT_STRIDE,
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
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    CONVOLUTION,
    MVE_ONLY,
    Branch,
    Delegation,
    Origin,
    ScratchSize,
    Wrapper,
)
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, minimum, named, round_up, term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

# What the tables of both types share.


SINCE = "main"
"""First release with these functions."""
SUPPORT = "Source/NNSupportFunctions/"
Lines = tuple[int, int]
"""A line in the file for f32 and in that for f16."""


class FloatType(NamedTuple):
    """A type of floating-point numbers."""

    name: str
    """End of the functions' names."""
    bytes: int
    """Of a number."""
    block: int
    """Columns of a block of packed weights: the lanes of an MVE register."""

    def at(self, path: str, function: str, lines: Lines, isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
        """A place in the source; `path` and `function` lack the type, `function` may be a static one of the file."""
        line = lines[FLOAT_TYPES.index(self)]
        return Origin(f"{path}_{self.name}.c", f"{function}_{self.name}", {SINCE: line}, isas)

    def size_function(self, name: str, lines: Lines, isas: tuple[Isa, ...] = ALL_ISAS) -> Origin:
        """A place in a function that answers a buffer's size; `name` lacks `arm_` and the type."""
        origin = self.at(f"{SUPPORT}arm_get_buffer_size", f"arm_{name}", lines, isas)
        return origin._replace(function=f"{origin.function}_get_buffer_size")

    def kernel(self, name: str) -> str:
        """A function by its name without `arm_` and the type."""
        return f"arm_{name}_{self.name}"


F32, F16 = FloatType("f32", 4, 4), FloatType("f16", 2, 8)
FLOAT_TYPES = (F32, F16)

LARGEST = 2**31 - 1
"""Largest number of bytes that a size function answers; more becomes 0 (arm_nn_size_to_i32_or_zero)."""


def sized(number: Term, origin: Origin, when: Condition = TRUE) -> tuple[ScratchSize, ...]:
    """A case of a size function, and the one where its number does not fit an int32_t."""
    too_large = ScratchSize(number - number, origin, all_of(when, greater(number, LARGEST)))
    return too_large, ScratchSize(number, origin, when)


def at(path: str, function: str, **lines: int) -> Origin:
    """A place in the files of both types: path and function lack the type, and each type that has it has a line."""
    return Origin(path, function, lines)


def of_types(*rows: Hazard) -> tuple[Hazard, ...]:
    """The rows of f32, then those of f16. Ids, entry points and functions lack the type, places are those of `at`."""

    def typed(row: Hazard, kind: FloatType) -> Hazard:
        def named_all(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(f"{name}_{kind.name}" for name in names)

        read = row.origin
        return row._replace(
            id=f"{row.id}-{kind.name}",
            entries=named_all(row.entries),
            of_kernels=None if row.of_kernels is None else named_all(row.of_kernels),
            origin=Origin(
                f"{read.file}_{kind.name}.c",
                read.function if kind.name in read.function else f"{read.function}_{kind.name}",
                {SINCE: read.lines[kind.name]},
                read.isas,
            ),
        )

    return tuple(typed(row, kind) for kind in FLOAT_TYPES for row in rows if kind.name in row.origin.lines)


# Which way a convolution goes: arm_convolve_wrapper_* hands everything to arm_convolve_nhwc_*.


ABSENT = "functions for f32 and f16 came after 7.0.0 (commit 91f84c80)"
_CONVOLVE, _POINTWISE = f"{CONVOLUTION}arm_convolve", f"{CONVOLUTION}arm_convolve_1x1"
_ROW = f"{CONVOLUTION}arm_convolve_1_x_n"
_MOST_ROWS = 8
"""Rows of a tile (arm_conv_opt_common.h)."""
POSITIONS = named("output positions", OUT_H * OUT_W)
_ONE_ROW = all_of(equal(IN_H, 1), equal(OUT_H, 1), equal(FILTER_H, 1))
_SAME_PLANE = all_of(UNIT_STRIDE, equal(OUT_H, IN_H), equal(OUT_W, IN_W))
_1X1 = all_of(FILTER_1X1, NO_PADDING)
_1XN = all_of(_ONE_ROW, greater(FILTER_W, 1), equal(STRIDE_H, 1), greater(STRIDE_W, 0), equal(PAD_H, 0), UNIT_DILATION)
_CONV1D_WIDTHS = any_of(equal(FILTER_W, 3), equal(FILTER_W, 5))
_SIZED_AS_1XN = all_of(_1XN, not_(all_of(equal(IN_N, 1), _CONV1D_WIDTHS, equal(STRIDE_W, 1), equal(PAD_W, 0))))
"""What the size function takes for the 1xN kernel, whatever NN_DISABLE_SPECIALIZATION says."""


def _conv1d(taps: int) -> Condition:
    """Shapes that arm_nn_conv1d_k3 and _k5 take (arm_conv_opt_f32.h:99, 170)."""
    return all_of(equal(IN_N, 1), _ONE_ROW, equal(FILTER_W, taps), UNIT_STRIDE, NO_PADDING, UNIT_DILATION)


def _tiles(kind: FloatType, depth: Term) -> Condition:
    """What both functions that gather windows into tiles ask (arm_convolve_f32.c:73-85)."""
    worth = (at_least(depth, 16), at_least(OUT_C, 8), at_least(POSITIONS, 8))
    return all_of(greater(CTX_SIZE, 0), *worth, at_least(CTX_SIZE, depth * kind.bytes))


def tile_bytes(kind: FloatType, depth: Term, most: int, rows: Term) -> Term:
    """Bytes that a tile of windows takes: as many rows as fit, as there are, and as the function handles."""
    return minimum(minimum(CTX_SIZE // (depth * kind.bytes), rows), most) * (depth * kind.bytes)


def _row_bytes(kind: FloatType) -> Term:
    """Bytes that the 1xN kernel gathers at most: rows of windows that reach into the padding."""
    after = (OUT_W - 1) * STRIDE_W - PAD_W + FILTER_W - IN_W
    padded = minimum(maximum(PAD_W, 0) + maximum(after, 0), 1)
    return padded * minimum(CTX_SIZE // (COLS * kind.bytes), OUT_W) * (COLS * kind.bytes)


def convolution_sizes(kind: FloatType) -> tuple[ScratchSize, ...]:
    """arm_convolve_*_get_buffer_size: the same number whatever the kernel then takes of it."""
    return (
        *pointwise_sizes(kind, _1X1),
        *_row_sizes(kind, _SIZED_AS_1XN),
        *sized(_MOST_ROWS * COLS * kind.bytes, kind.size_function("convolve", (163, 163))),
    )


def pointwise_sizes(kind: FloatType, when: Condition) -> tuple[ScratchSize, ...]:
    """arm_convolve_1x1_*_get_buffer_size, which the function for all convolutions calls too."""
    origin = kind.size_function("convolve_1x1", (207, 207))
    return (
        ScratchSize(term(0), kind.size_function("convolve_1x1", (201, 201)), all_of(when, _SAME_PLANE)),
        *sized(_MOST_ROWS * IN_C * kind.bytes, origin, when),
    )


def _row_sizes(kind: FloatType, when: Condition) -> tuple[ScratchSize, ...]:
    origin = kind.size_function("convolve_1_x_n", (236, 236))
    grouped = ScratchSize(term(0), kind.size_function("convolve_1_x_n", (228, 228)), all_of(when, not_(NOT_GROUPED)))
    return grouped, *sized(FILTER_W * IN_C * kind.bytes, origin, when)


def _route(kind: FloatType) -> Wrapper:
    def origin(f32: int, f16: int, *, specialized: bool = False) -> Origin:
        return kind.at(_CONVOLVE, "arm_convolve_nhwc", (f32, f16))._replace(specialized=specialized)

    row = FILTER_W * IN_C * kind.bytes
    return Wrapper(
        entry=f"convolve_{kind.name}",
        function=kind.kernel("convolve_wrapper"),
        branches=(
            Branch(kind.kernel("convolve_1x1_nhwc"), _1X1, origin(302, 304)),
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
                all_of(greater(CTX_SIZE, 0), _1XN, NOT_GROUPED, at_least(CTX_SIZE, row)),
                origin(316, 318),
            ),
            Branch(kind.kernel("convolve_nhwc_patch_gemm"), _tiles(kind, COLS), origin(350, 352)),
            Branch(kind.kernel("convolve_nhwc"), TRUE, origin(362, 364)),
        ),
        sizes=convolution_sizes(kind),
        absent=ABSENT,
        uses=(
            (kind.kernel("convolve_1x1_nhwc_patch_gemm"), tile_bytes(kind, IN_C, _MOST_ROWS, POSITIONS)),
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
        _POINTWISE,
        (290, 291),
        (*pointwise_sizes(kind, _1X1), *_no_size(kind, "convolve_1x1", (198, 198))),
    )
    for kind in FLOAT_TYPES
)
CONVOLVE_1_X_N_F32_ROUTE, CONVOLVE_1_X_N_F16_ROUTE = (
    _alone(
        kind,
        "convolve_1_x_n",
        _ROW,
        (378, 411),
        (*_row_sizes(kind, _1XN), *_no_size(kind, "convolve_1_x_n", (233, 233))),
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
    taken = all_of(not_(_SAME_PLANE), _tiles(kind, IN_C))
    return (
        Delegation(pointwise, tiles, kind.at(_POINTWISE, "arm_convolve_1x1_nhwc", (235, 235)), taken),
        *products(kind, "convolve_1x1_nhwc", _POINTWISE, "arm_convolve_1x1_mat_mul", (80, 80)),
        *products(kind, "convolve_1x1_nhwc_patch_gemm", _POINTWISE, "arm_convolve_1x1_mat_mul", (80, 80)),
        *products(kind, "convolve_nhwc_patch_gemm", _CONVOLVE, "arm_convolve_patch_mat_mul", (105, 105)),
    )


CONVOLUTION_DELEGATIONS = tuple(row for kind in FLOAT_TYPES for row in _delegations(kind))


# What goes wrong in convolutions: each call returns success, but those of one kernel by itself.


_STANDARD = "Give this layer standard weights."
_PAD_FIRST = "Pad by arm_pad_* in front of the layer, which then pads nothing."
_ENTRIES = ("convolve", "convolve_1x1", "convolve_1_x_n")


def _row_overrun(kind: FloatType) -> Condition:
    """Zeros in front of the last gathered window that lies wholly in the padding reach past the buffer.

    Windows are gathered in order, so that zeros past an earlier one are written over.
    """
    rows = minimum(CTX_SIZE // (COLS * kind.bytes), OUT_W)
    last = minimum(rows - 1, (PAD_W - FILTER_W - 1) // STRIDE_W)
    end = (last * (FILTER_W - STRIDE_W) + PAD_W) * (IN_C * kind.bytes)
    return all_of(
        greater(PAD_W, FILTER_W), any_of(greater(PAD_W * IN_C * kind.bytes, CTX_SIZE), greater(end, CTX_SIZE))
    )


_CONV1D = (
    "arm_nn_conv1d_k5_packed",
    "arm_nn_conv1d_k5_nhwc",
    "arm_nn_conv1d_k3_packed",
    "arm_nn_conv1d_k3_nhwc",
)
_NEVER_COMPARED = (
    "The kernel is chosen for its padding in front, which is 0, and never compares a position with the size of the "
    "input."
)
_BEHIND = "reads past its input where there is padding behind"

CONVOLUTION_HAZARDS = of_types(
    Hazard(
        id="conv-packed-direct",
        kind="wrong-result",
        entries=_ENTRIES,
        origin=at(_CONVOLVE, "arm_convolve_nhwc", f32=376, f16=378),
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
        origin=at(_ROW, "arm_convolve_1_x_n_nhwc", f32=296, f16=329),
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
        when=greater(OUT_W, IN_W - FILTER_W + 1),
        brief=_BEHIND,
        what=_NEVER_COMPARED,
        way_round=_PAD_FIRST,
    ),
    *(
        Hazard(
            id="conv-1xn-padding-overrun",
            kind="overrun",
            entries=_ENTRIES,
            of_kernels=("arm_convolve_1_x_n_nhwc",),
            origin=at(_ROW, "arm_convolve_1_x_n_pack_rows", **{kind.name: line}),
            when=_row_overrun(kind),
            brief="writes zeros past its scratch buffer where padding is wider than the window",
            what="A window that lies wholly in the padding gets as many zeros as lie in front of the input, more "
            "than a window has.",
            way_round=_PAD_FIRST,
            breach=greater(PAD_W, FILTER_W),
        )
        for kind, line in ((F32, 214), (F16, 247))
    ),
    Hazard(
        id="conv-grouped",
        kind="wrong-result",
        entries=_ENTRIES,
        of_kernels=(),
        origin=at(_CONVOLVE, "arm_convolve_nhwc", f32=376, f16=378),
        when=unequal(FILTER_C, IN_C),
        brief="knows no groups and computes a dense layer",
        what="No function for f32 and f16 looks at filter_dims.c: the layer is computed as if each output read "
        "every input channel, and the reads run past the weights.",
        way_round="Call it once for each group, or pad each group's weights with zeros to all input channels.",
    ),
    Hazard(
        id="conv-1x1-past-input",
        kind="wrong-result",
        entries=_ENTRIES,
        origin=at(_POINTWISE, "arm_convolve_1x1_nhwc", f32=252, f16=252),
        when=any_of(at_least((OUT_H - 1) * STRIDE_H, IN_H), at_least((OUT_W - 1) * STRIDE_W, IN_W)),
        brief=_BEHIND,
        what=_NEVER_COMPARED,
        way_round=_PAD_FIRST,
    ),
    *(
        Hazard(
            id="conv-1xn-refused",
            kind="returns-error",
            entries=("convolve_1_x_n",),
            origin=at(_ROW, "arm_convolve_1_x_n_nhwc", **{kind.name: line}),
            when=any_of(
                not_(all_of(_1XN, NOT_GROUPED)), at_most(CTX_SIZE, 0), less(CTX_SIZE, FILTER_W * IN_C * kind.bytes)
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
        when=all_of(unequal(OUT_C % 4, 0), at_least(OUT_W, 2)),
        brief="leaves the last output channels of pairs of columns as they were",
        what="Its MVE code computes two columns at a time, four output channels at once, and has nothing for "
        "channels that are left; the code for f16 has.",
        way_round="Give this layer standard weights, or a multiple of 4 output channels.",
        breach=unequal(OUT_C % 4, 0),
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
        origin=at(_POINTWISE, "arm_convolve_1x1_nhwc", f32=199, f16=199),
        when=not_(_1X1),
        brief="returns an error for padding and other windows",
        what="The kernel for 1x1 windows takes no other.",
        status=-1,
    ),
)


# Depthwise layers: routes and scratch.


_DEPTHWISE = f"{CONVOLUTION}arm_depthwise_conv"
_MOST_WINDOWS = 4
"""Rows of a tile: ARM_NN_DW_NT_T_*_TILE_ROWS."""
_THRESHOLDS = {"gcc": 1, "armclang": 8}
"""Output channels from which MVE code makes a convolution of one input channel (arm_nnsupportfunctions.h:83-87)."""

_SINGLE = all_of(equal(CH_MULT, 1), UNIT_DILATION)
_K3 = all_of(
    equal(IN_N, 1),
    equal(OUT_N, 1),
    equal(FILTER_W, 3),
    equal(FILTER_H, 1),
    equal(IN_H, 1),
    equal(OUT_H, 1),
    _SINGLE,
    UNIT_STRIDE,
    NO_PADDING,
)
"""arm_depthwise_conv_opt_f32.h:98-100."""
_2X5 = all_of(
    equal(FILTER_W, 5), equal(FILTER_H, 2), equal(IN_H, 2), equal(OUT_H, 1), UNIT_DILATION, UNIT_STRIDE, NO_PADDING
)
"""arm_depthwise_conv_opt_f16.h:156-158; f32 has no such kernel."""
_3X3 = all_of(greater(IN_N, 0), equal(IN_N, OUT_N), equal(FILTER_W, 3), equal(FILTER_H, 3), _SINGLE)
"""arm_depthwise_conv_opt_f32.h:154-155."""


def _depthwise_sizes(kind: FloatType) -> tuple[ScratchSize, ...]:
    filter_bytes = round_up(OUT_C, kind.block) * TAPS * kind.bytes
    as_convolution = {"filter_dims.c": IN_C}
    to_conv = [
        row
        for compiler, threshold in _THRESHOLDS.items()
        for case in convolution_sizes(kind)
        for row in sized(
            filter_bytes + case.size.substitute(as_convolution),
            kind.size_function("depthwise_conv", (71, 71), MVE_ONLY)._replace(compilers=(compiler,)),
            all_of(equal(IN_C, 1), at_least(OUT_C, threshold), case.when.substitute(as_convolution)),
        )
    ]
    tile = sized(_MOST_WINDOWS * TAPS * IN_C * kind.bytes, kind.size_function("depthwise_conv", (107, 107)), _SINGLE)
    return (*to_conv, *tile, ScratchSize(term(0), kind.size_function("depthwise_conv", (97, 97))))


def _depthwise_route(kind: FloatType) -> Wrapper:
    function = "arm_depthwise_conv_nhwc_dispatch"
    special = kind.at(_DEPTHWISE, function, (757, 623))._replace(specialized=True)
    filter_bytes = round_up(OUT_C, kind.block) * TAPS * kind.bytes
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
                all_of(_SINGLE, greater(CTX_SIZE, 0), at_least(CTX_SIZE, TAPS * IN_C * kind.bytes)),
                origin(775, 641),
            ),
            Branch(kind.kernel("depthwise_conv_nhwc_fast_chmult1_kc"), _SINGLE, origin(798, 664)),
            *(
                Branch(
                    to_conv,
                    all_of(
                        equal(IN_C, 1),
                        at_least(OUT_C, threshold),
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
            (tiles, tile_bytes(kind, COLS, _MOST_WINDOWS, OUT_W)),
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


# Depthwise kernels that never compare a column or row with the size of the input. Each call returns success.


_WIDE, _HIGH = greater(OUT_W, IN_W - 2), greater(OUT_H, IN_H - 2)
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
        greater(OUT_W, IN_W - 4),
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
            _BEHIND,
            _NEVER_COMPARED,
            way_round="Pad by arm_pad_* in front of the layer.",
        )
        for name, origin, when in _DEPTHWISE_OVERREADS
    )
)
