"""Products, pools and element-wise functions of f32 and f16: routes, hazards, accuracy."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    ACTIVATION,
    ADJ_X,
    ADJ_Y,
    BIAS,
    CLAMPED,
    COLS,
    CTX_SIZE,
    FILTER_C,
    FILTER_H,
    FILTER_N,
    FILTER_W,
    IN_C,
    IN_H,
    IN_N,
    IN_W,
    INITIAL_STATE,
    NO_PADDING,
    OUT_C,
    OUT_H,
    OUT_N,
    OUT_W,
    PACKED,
    SINGLE_COLUMNS,
    STRIDE_H,
    STRIDE_W,
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
    unequal,
)
from onnxlint_cmsis.cmsis_nn.float.convolution import (
    ABSENT,
    F16,
    F32,
    FLOAT_TYPES,
    SUPPORT,
    FloatType,
    at,
    of_types,
    products,
)
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT, Bound, Hazard
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, Branch, Delegation, ScratchSize, Wrapper
from onnxlint_cmsis.cmsis_nn.terms import minimum, term, var

# Fully connected layers and products of two activations.
#
# arm_batch_matmul_* has the rows in `c` and the common length in `w`. A right side that is not "adjoint" is stored
# transposed, [columns][length], as the weights of a fully connected layer are.


_DENSE = "Source/FullyConnectedFunctions/arm_fully_connected"
_PRODUCT = "Source/FullyConnectedFunctions/arm_batch_matmul"
_WIDEST_GATHER = 65535 // 7
"""Largest step between the lanes of a gather for f16 (arm_nn_math_types.h:105-107)."""


def _nothing(kind: FloatType, name: str, line: int) -> tuple[ScratchSize, ...]:
    return (ScratchSize(term(0), kind.size_function(name, (line, line))),)


def _dense(kind: FloatType) -> Wrapper:
    origin = kind.at(_DENSE, "arm_fully_connected_nhwc", (107, 107))
    return Wrapper(
        entry=f"fully_connected_{kind.name}",
        function=kind.kernel("fully_connected"),
        branches=(Branch(kind.kernel("fully_connected_nhwc"), TRUE, origin),),
        sizes=_nothing(kind, "fully_connected", 246),
        params="fc_params",
        absent=ABSENT,
        uses=(),
    )


def _batch_product(kind: FloatType) -> Wrapper:
    origin = kind.at(_PRODUCT, "arm_batch_matmul", (171, 172))
    return Wrapper(
        entry=f"batch_matmul_{kind.name}",
        function=kind.kernel("batch_matmul"),
        branches=(Branch(kind.kernel("batch_matmul"), TRUE, origin),),
        sizes=_nothing(kind, "batch_matmul", 261),
        params="bmm_params",
        absent=ABSENT,
        uses=(),
    )


FULLY_CONNECTED_F32_ROUTE, FULLY_CONNECTED_F16_ROUTE = map(_dense, FLOAT_TYPES)
BATCH_MATMUL_F32_ROUTE, BATCH_MATMUL_F16_ROUTE = map(_batch_product, FLOAT_TYPES)


def _product_delegations(kind: FloatType) -> tuple[Delegation, ...]:
    kernel = kind.kernel("batch_matmul")
    plain = all_of(equal(ADJ_X, 0), equal(ADJ_Y, 0))
    both = all_of(equal(ADJ_X, 1), equal(ADJ_Y, 1))
    wide = any_of(
        all_of(equal(ADJ_X, 1), greater(IN_C, _WIDEST_GATHER)),
        all_of(equal(ADJ_Y, 1), greater(FILTER_C, _WIDEST_GATHER)),
    )
    scalar = [(NOT_MVE, TRUE)] + ([(MVE_ONLY, wide)] if kind is F16 else [])
    vectors = [*((isas, when, "scalar") for isas, when in scalar), (MVE_ONLY, TRUE, "mve")]
    first, second = products(kind, "batch_matmul", _PRODUCT, "arm_batch_matmul", (173, 174))
    return (
        first._replace(when=all_of(plain, equal(PACKED, 1))),
        second._replace(when=plain),
        *(
            Delegation(
                kernel,
                f"{name}_{kind.name}_{code}",
                kind.at(_PRODUCT, "arm_batch_matmul", lines, isas),
                all_of(when, adjoint),
                static=True,
            )
            for isas, when, code in vectors
            for name, lines, adjoint in (
                ("dot_strided_strided", (242, 255), both),
                ("dot_contig_strided", (204, 205), TRUE),
            )
        ),
        *products(kind, "fully_connected_nhwc", _DENSE, "arm_fully_connected_core", (63, 63)),
    )


# Pools and softmax choose by shape; all else has one function.


_POOL = "Source/PoolingFunctions/arm_max_pool"
_SOFTMAX = "Source/SoftmaxFunctions/arm_softmax"


def _row_pool(width: int) -> Condition:
    """Windows of one row that follow each other (arm_max_pool_f32.c:88-89, 110-111)."""
    one_row = (equal(IN_H, 1), equal(OUT_H, 1), equal(FILTER_H, 1), equal(STRIDE_H, 1), NO_PADDING)
    return all_of(*one_row, equal(FILTER_W, width), equal(STRIDE_W, width))


def _max_pool(kind: FloatType) -> Wrapper:
    two = kind.at(_POOL, "arm_max_pool", (88, 90))._replace(specialized=True)
    three = kind.at(_POOL, "arm_max_pool", (109, 112))._replace(specialized=True)
    free = equal(CLAMPED, 0)
    return Wrapper(
        entry=f"max_pool_{kind.name}",
        function=kind.kernel("max_pool"),
        branches=(
            Branch(kind.kernel("nn_maxpool1d_k2s2_nhwc_noclip"), all_of(_row_pool(2), free), two),
            Branch(kind.kernel("nn_maxpool1d_k2s2_nhwc"), _row_pool(2), two),
            Branch(kind.kernel("nn_maxpool1d_k3s3_nhwc"), all_of(_row_pool(3), free), three),
            Branch(kind.kernel("max_pool"), TRUE, kind.at(_POOL, "arm_max_pool", (124, 127))),
        ),
        sizes=(),
        params="pool_params",
        absent=ABSENT,
    )


def _softmax(kind: FloatType) -> Wrapper:
    pair = all_of(equal(IN_N * IN_H * IN_W, 1), equal(IN_C, 2))
    return Wrapper(
        entry=f"softmax_{kind.name}",
        function=kind.kernel("softmax"),
        branches=(
            Branch(
                kind.kernel("nn_softmax_1x2"),
                pair,
                kind.at(_SOFTMAX, "arm_softmax", (54, 53))._replace(specialized=True),
            ),
            Branch(kind.kernel("softmax"), TRUE, kind.at(_SOFTMAX, "arm_softmax", (60, 59))),
        ),
        sizes=(),
        absent=ABSENT,
    )


MAX_POOL_F32_ROUTE, MAX_POOL_F16_ROUTE = map(_max_pool, FLOAT_TYPES)
SOFTMAX_F32_ROUTE, SOFTMAX_F16_ROUTE = map(_softmax, FLOAT_TYPES)

OTHERS_DELEGATIONS = tuple(row for kind in FLOAT_TYPES for row in _product_delegations(kind))


# What goes wrong.


_PADS = tuple(
    (front, out - size - front)
    for front, size, out in zip(
        (var(f"pad_front.{axis}") for axis in "nhwc"),
        (IN_N, IN_H, IN_W, IN_C),
        (OUT_N, OUT_H, OUT_W, OUT_C),
        strict=True,
    )
)
"""What a pad adds in front of its input and behind it, along each axis."""


_HAZARDS = of_types(
    Hazard(
        id="fc-depth-refused",
        kind="returns-error",
        entries=("fully_connected",),
        origin=at(_DENSE, "arm_fully_connected_nhwc", f32=102, f16=102),
        when=unequal(FILTER_N, IN_H * IN_W * IN_C),
        brief="returns an error where filter_dims.n is not the length of a row",
        what="The function compares filter_dims.n with the elements of an input row.",
        status=-1,
        caller=True,
    ),
    Hazard(
        id="bmm-packed-adjoint",
        kind="returns-error",
        entries=("batch_matmul",),
        origin=at(_PRODUCT, "arm_batch_matmul", f32=200, f16=201),
        when=all_of(equal(PACKED, 1), any_of(equal(ADJ_X, 1), equal(ADJ_Y, 1))),
        brief="returns an error for packed weights and an adjoint operand",
        what="Packed weights stand for the transposed right side alone.",
        way_round="Give this layer standard weights.",
        status=-1,
        breach=TRUE,
    ),
    *(
        Hazard(
            id="bmm-packed-batch",
            kind="wrong-result",
            entries=("batch_matmul",),
            of_kernels=("arm_nn_mat_mult_nt_n_packed",),
            origin=at(_PRODUCT, "arm_batch_matmul", **{kind.name: line}),
            when=all_of(equal(PACKED, 1), unequal(FILTER_C % kind.block, 0), greater(FILTER_N * FILTER_H, 1)),
            brief="steps to the next packed matrix as if it were not filled up",
            what=f"Packed matrices are filled up to a multiple of {kind.block} columns, and the function goes on by "
            "the columns that they have: from the second matrix on all values are wrong.",
            way_round="Give this layer standard weights.",
            breach=unequal(FILTER_C % kind.block, 0),
        )
        for kind, line in ((F32, 268), (F16, 287))
    ),
    Hazard(
        id="max-pool-1d-past-input",
        kind="wrong-result",
        entries=("max_pool",),
        of_kernels=(
            "arm_nn_maxpool1d_k2s2_nhwc_noclip",
            "arm_nn_maxpool1d_k2s2_nhwc",
            "arm_nn_maxpool1d_k3s3_nhwc",
        ),
        origin=at(f"{SUPPORT}arm_nn_maxpool1d", "arm_nn_maxpool1d_k2s2_nhwc_noclip", f32=65, f16=68),
        when=greater(OUT_W * FILTER_W, IN_W),
        brief="reads past its row where the last window does not fit",
        what="The kernel is chosen for its padding in front, which is 0, and never compares a column with the "
        "width of the input.",
        way_round="Pad by arm_pad_* in front of the layer, with the lowest number.",
    ),
    *(
        Hazard(
            id=f"{name}-single-columns",
            kind="wrong-result",
            entries=(name,),
            origin=at(f"Source/BasicMathFunctions/arm_{name}", f"arm_{name}", f32=49, f16=49),
            when=SINGLE_COLUMNS,
            brief="takes elements of the wrong rows, and elements behind the operand",
            what="One operand has a single column and a single channel and is repeated along the width: after each "
            "row the function goes on by two of its elements in place of one, status SUCCESS.",
            way_round="Repeat that operand along the width in the model, so that it has as many columns as the "
            "other one.",
            breach=TRUE,
        )
        for name in ("maximum", "minimum")
    ),
    Hazard(
        id="lstm-initial-state",
        kind="wrong-result",
        entries=("lstm_unidirectional",),
        origin=at("Source/LSTMFunctions/arm_lstm_unidirectional", "arm_lstm_unidirectional", f32=61, f16=61),
        when=equal(INITIAL_STATE, 1),
        brief="starts from a state of zeros, whatever the model gives",
        what="The function clears the cell state and has no argument for the hidden one.",
        breach=TRUE,
    ),
    Hazard(
        id="svdf-buffers-missing",
        kind="returns-error",
        entries=("svdf",),
        origin=at("Source/SVDFunctions/arm_svdf", "arm_svdf", f32=112, f16=108),
        when=at_most(CTX_SIZE, 0),
        brief="returns an error without its two buffers",
        what="The buffer input_ctx holds one number for each image and feature, output_ctx one for each image and "
        "unit; no function answers their sizes.",
        status=-1,
        caller=True,
    ),
    Hazard(
        id="batch-norm-bias-missing",
        kind="returns-error",
        entries=("batch_norm",),
        origin=at("Source/NNSupportFunctions/arm_batch_norm", "arm_batch_norm", f32=51, f16=51),
        when=equal(BIAS, 0),
        brief="returns an error where the bias is NULL",
        what="Both scale and bias have to be given.",
        status=-1,
        caller=True,
    ),
    Hazard(
        id="elementwise-nothing",
        kind="returns-error",
        entries=("elementwise_add", "elementwise_mul"),
        of_kernels=("arm_elementwise_add", "arm_elementwise_mul"),
        origin=at("Source/BasicMathFunctions/arm_elementwise_add", "arm_elementwise_add", f32=48, f16=48),
        when=less(IN_N * IN_H * IN_W * IN_C, 1),
        brief="returns an error for no elements",
        what="The argument block_size has to be 1 or more.",
        status=-1,
        caller=True,
    ),
    Hazard(
        id="pad-negative",
        kind="overrun",
        entries=("pad",),
        origin=at("Source/PadFunctions/arm_pad", "arm_pad", f32=71, f16=71),
        when=any_of(*(less(amount, 0) for pair in _PADS for amount in pair)),
        brief="takes a negative amount for one of 4,294,967,295 or less",
        what="Amounts become uint32_t before they are multiplied: a Cortex-M4 stopped with a fault, a Cortex-M55 "
        "wrote past its output.",
        way_round="Cut off in other code.",
        caller=True,
    ),
)


# Results that are off by more than the type's own rounding, each with a bound.
#
# The bounds of tanh are those over all its arguments. A sum of n numbers that are rounded to half precision is off by
# at most n roundings of 2^-11 of the sum of their magnitudes, and so is a sum of n products (S. M. Rump, 2012; C.-P.
# Jeannerod and S. M. Rump, 2013).


_TANH = 34
"""ARM_NN_FLT_ACT_TANH (arm_nn_types_flt.h)."""
_LONG_SUM = 1024
"""Products that are added in half precision from which on 2 % were seen."""
_MANY_VALUES = 1024
"""Values of a window from which on an average in half precision was off by 1 %."""
_MANY_LOGITS = 164
"""Logits of a row from which on their least exponentials may add 2 % of the largest."""
_ROUNDING = 2.0**-11
"""Largest relative error of a number that is rounded to half precision."""
_HALF_PRODUCTS = ("arm_nn_mat_mult_nt_t", "arm_nn_mat_mult_nt_n_packed")
_HALF_CONVOLUTION = (*_HALF_PRODUCTS, "arm_convolve_nhwc", "arm_convolve_1_x_n_nhwc")
_ONLY_F32 = "Take f32 for this layer."
_LSTM_STEP = "Source/NNSupportFunctions/arm_nn_lstm_step"
_ACTIVATION = "Source/ActivationFunctions/arm_nn_activation"

_BY_STEPS = (
    " The cell state adds up the errors of all steps, the output adds its own; recurrent weights carry the error of an "
    "output into the gates of the next step."
)


def _of_steps(largest: float) -> Bound:
    """What the output of an LSTM is off by after all its steps, where a tanh is off by `largest`.

    No gate is above 1: each step adds one error to the cell state, and tanh has no slope above 1. Outputs lie between
    -1 and 1. How far recurrent weights carry an error depends on the weights.
    """
    steps = minimum(OUT_W + 1, int(2 / largest))
    return Bound(steps, largest, "through the cell state, and by more where recurrent weights amplify it")


_INEXACT = of_types(
    *(
        Hazard(
            id=f"{name}-half-sum",
            kind=INEXACT,
            entries=(entry,),
            of_kernels=kernels,
            origin=at(f"{SUPPORT}arm_nn_mat_mult_nt_t", "dot_nt_t_f16_scalar", f16=58),
            when=at_least(depth, _LONG_SUM),
            brief="adds its products in half precision",
            what="Each sum of products is rounded to 11 bits, so that errors grow with their number. 2.5 % "
            "(Cortex-M55) and 5.6 % (Cortex-M4) of the larger of the result and 0.5 were seen at 4,400 products.",
            way_round=_ONLY_F32,
            bound=Bound(depth + 1, _ROUNDING, "of the sum of the magnitudes", share=True),
        )
        for name, entry, kernels, depth in (
            ("conv", "convolve", _HALF_CONVOLUTION, COLS),
            ("fc", "fully_connected", _HALF_PRODUCTS, FILTER_N),
            ("bmm", "batch_matmul", _HALF_PRODUCTS, FILTER_W),
        )
    ),
    Hazard(
        id="avgpool-half-sum",
        kind=INEXACT,
        entries=("avgpool",),
        origin=at("Source/PoolingFunctions/arm_avg_pool", "arm_avg_pool", f16=113)._replace(isas=MVE_ONLY),
        when=at_least(FILTER_H * FILTER_W, _MANY_VALUES),
        brief="adds its values in half precision",
        what="MVE code adds the values of a window in half precision: 8 % were seen at 4,096 values from 0 to 6, and a "
        "sum above 65,504 becomes infinite.",
        way_round=_ONLY_F32,
        bound=Bound(FILTER_H * FILTER_W + 1, _ROUNDING, "of the mean magnitude", share=True),
    ),
    Hazard(
        id="softmax-least-exponential",
        kind=INEXACT,
        entries=("softmax",),
        origin=at(_SOFTMAX, "arm_softmax", f16=115)._replace(isas=NOT_MVE),
        when=at_least(IN_C, _MANY_LOGITS),
        brief="takes no exponential for less than 6.1e-5",
        what="C code keeps the exponent at -14: each logit far below the largest adds between 2^-14 and 2^-13 to the "
        "sum of a row. 2.8 % were seen at 1,000 logits.",
        way_round=_ONLY_F32,
        bound=Bound(IN_C + 7, 2.0**-13),  # 2^-13 for each of the others, and two roundings of 2^-11
    ),
    *(
        Hazard(
            id=name,
            kind=INEXACT,
            entries=(entry,),
            of_kernels=(kernel,),
            origin=origin,
            when=when,
            brief=f"takes a quotient of two polynomials for {'each ' if within else ''}tanh",
            what="The quotient x (27 + x^2) / (27 + 9 x^2) in half precision, and 1 above 3, is off by up to 0.0243 "
            f"over all arguments.{_BY_STEPS if within else ''}",
            way_round=_ONLY_F32,
            bound=_of_steps(0.025) if within else Bound(term(1), 0.025),
        )
        for name, entry, kernel, origin, when, within in (
            (
                *("tanh-rational", "activation", "arm_nn_activation"),
                at(_ACTIVATION, "arm_nn_activation", f16=114)._replace(isas=NOT_MVE),
                equal(ACTIVATION, _TANH),
                False,
            ),
            (
                *("lstm-tanh-rational", "lstm_unidirectional", "arm_lstm_unidirectional"),
                at(_LSTM_STEP, "arm_nn_lstm_activate_gate", f16=53),
                TRUE,
                True,
            ),
        )
    ),
    *(
        Hazard(
            id=f"{name}-saturated",
            kind=INEXACT,
            entries=(entry,),
            of_kernels=(kernel,),
            origin=origin,
            when=when,
            brief=f"gives 1 for {'each ' if within else ''}tanh of numbers above 4",
            what="The function takes tanh of more than 4 for 1, which is off by up to 1 - tanh 4."
            f"{_BY_STEPS if within else ''}",
            bound=_of_steps(0.000671) if within else Bound(term(1), 0.000671),
        )
        for name, entry, kernel, origin, when, within in (
            (
                *("tanh", "activation", "arm_nn_activation"),
                at(_ACTIVATION, "arm_nn_activation", f32=114),
                *(equal(ACTIVATION, _TANH), False),
            ),
            (
                *("lstm-tanh", "lstm_unidirectional", "arm_lstm_unidirectional"),
                at(_LSTM_STEP, "arm_nn_lstm_activate_gate", f32=53),
                *(TRUE, True),
            ),
        )
    ),
)

OTHERS_HAZARDS = (*_HAZARDS, *_INEXACT)
