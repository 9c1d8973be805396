"""What goes wrong in products, pools and element-wise functions of f32 and f16."""

from onnxlint_cmsis.cmsis_nn.arguments import (
    ADJ_X,
    ADJ_Y,
    BIAS,
    CTX_SIZE,
    FILTER,
    IN,
    INITIAL_STATE,
    OUT,
    PACKED,
    SINGLE_COLUMNS,
)
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, any_of, at_most, equal, greater, less, unequal
from onnxlint_cmsis.cmsis_nn.float.both_types import F16, F32, SUPPORT, at, of_types
from onnxlint_cmsis.cmsis_nn.float.products import DENSE, PRODUCT
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.terms import var

_PADS = tuple(
    (front, out - size - front)
    for front, size, out in zip(
        (var(f"pad_front.{axis}") for axis in "nhwc"),
        (IN.n, IN.h, IN.w, IN.c),
        (OUT.n, OUT.h, OUT.w, OUT.c),
        strict=True,
    )
)
"""What a pad adds in front of its input and behind it, along each axis."""

OTHERS_HAZARDS = of_types(
    Hazard(
        id="fc-depth-refused",
        kind="returns-error",
        entries=("fully_connected",),
        origin=at(DENSE, "arm_fully_connected_nhwc", f32=102, f16=102),
        when=unequal(FILTER.n, IN.h * IN.w * IN.c),
        brief="returns an error where filter_dims.n is not the length of a row",
        what="The function compares filter_dims.n with the elements of an input row.",
        status=-1,
        caller=True,
    ),
    Hazard(
        id="bmm-packed-adjoint",
        kind="returns-error",
        entries=("batch_matmul",),
        origin=at(PRODUCT, "arm_batch_matmul", f32=200, f16=201),
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
            origin=at(PRODUCT, "arm_batch_matmul", **{kind.name: line}),
            when=all_of(equal(PACKED, 1), unequal(FILTER.c % kind.block, 0), greater(FILTER.n * FILTER.h, 1)),
            brief="steps to the next packed matrix as if it were not filled up",
            what=f"Packed matrices are filled up to a multiple of {kind.block} columns, and the function goes on by "
            "the columns that they have: from the second matrix on all values are wrong.",
            way_round="Give this layer standard weights.",
            breach=unequal(FILTER.c % kind.block, 0),
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
        when=greater(OUT.w * FILTER.w, IN.w),
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
        when=less(IN.n * IN.h * IN.w * IN.c, 1),
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
