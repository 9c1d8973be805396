"""Results that are off by more than the type's own rounding, each with a bound.

The bounds of tanh are those over all its arguments. A sum of n numbers that are rounded to half precision is off by
at most n roundings of 2^-11 of the sum of their magnitudes, and so is a sum of n products (S. M. Rump, 2012; C.-P.
Jeannerod and S. M. Rump, 2013).
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import ACTIVATION, COLS, FILTER, IN, OUT
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, at_least, equal
from onnxlint_cmsis.cmsis_nn.float.both_types import SUPPORT, at, of_types
from onnxlint_cmsis.cmsis_nn.float.pools import SOFTMAX
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT, Bound, Hazard
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE
from onnxlint_cmsis.cmsis_nn.terms import minimum, term

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
    steps = minimum(OUT.w + 1, int(2 / largest))
    return Bound(steps, largest, "through the cell state, and by more where recurrent weights amplify it")


INEXACT_RESULTS = of_types(
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
            ("fc", "fully_connected", _HALF_PRODUCTS, FILTER.n),
            ("bmm", "batch_matmul", _HALF_PRODUCTS, FILTER.w),
        )
    ),
    Hazard(
        id="avgpool-half-sum",
        kind=INEXACT,
        entries=("avgpool",),
        origin=at("Source/PoolingFunctions/arm_avg_pool", "arm_avg_pool", f16=113)._replace(isas=MVE_ONLY),
        when=at_least(FILTER.h * FILTER.w, _MANY_VALUES),
        brief="adds its values in half precision",
        what="MVE code adds the values of a window in half precision: 8 % were seen at 4,096 values from 0 to 6, and a "
        "sum above 65,504 becomes infinite.",
        way_round=_ONLY_F32,
        bound=Bound(FILTER.h * FILTER.w + 1, _ROUNDING, "of the mean magnitude", share=True),
    ),
    Hazard(
        id="softmax-least-exponential",
        kind=INEXACT,
        entries=("softmax",),
        origin=at(SOFTMAX, "arm_softmax", f16=115)._replace(isas=NOT_MVE),
        when=at_least(IN.c, _MANY_LOGITS),
        brief="takes no exponential for less than 6.1e-5",
        what="C code keeps the exponent at -14: each logit far below the largest adds between 2^-14 and 2^-13 to the "
        "sum of a row. 2.8 % were seen at 1,000 logits.",
        way_round=_ONLY_F32,
        bound=Bound(IN.c + 7, 2.0**-13),  # 2^-13 for each of the others, and two roundings of 2^-11
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
