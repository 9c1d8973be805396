"""Pools and softmax of f32 and f16, which choose by shape."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import CLAMPED, FILTER, IN, NO_PADDING, OUT, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.float.both_types import FLOAT_TYPES, FloatType
from onnxlint_cmsis.cmsis_nn.float.convolution import ABSENT
from onnxlint_cmsis.cmsis_nn.rows import Branch, Wrapper

_POOL = "Source/PoolingFunctions/arm_max_pool"
SOFTMAX = "Source/SoftmaxFunctions/arm_softmax"


def _row_pool(width: int) -> Condition:
    """Windows of one row that follow each other (arm_max_pool_f32.c:88-89, 110-111)."""
    one_row = (equal(IN.h, 1), equal(OUT.h, 1), equal(FILTER.h, 1), equal(STRIDE.h, 1), NO_PADDING)
    return all_of(*one_row, equal(FILTER.w, width), equal(STRIDE.w, width))


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
    pair = all_of(equal(IN.n * IN.h * IN.w, 1), equal(IN.c, 2))
    return Wrapper(
        entry=f"softmax_{kind.name}",
        function=kind.kernel("softmax"),
        branches=(
            Branch(
                kind.kernel("nn_softmax_1x2"),
                pair,
                kind.at(SOFTMAX, "arm_softmax", (54, 53))._replace(specialized=True),
            ),
            Branch(kind.kernel("softmax"), TRUE, kind.at(SOFTMAX, "arm_softmax", (60, 59))),
        ),
        sizes=(),
        absent=ABSENT,
    )


MAX_POOL_F32_ROUTE, MAX_POOL_F16_ROUTE = map(_max_pool, FLOAT_TYPES)
SOFTMAX_F32_ROUTE, SOFTMAX_F16_ROUTE = map(_softmax, FLOAT_TYPES)
