"""Fully connected layers and products of two activations of f32 and f16.

arm_batch_matmul_* has the rows in `c` and the common length in `w`. A right side that is not "adjoint" is stored
transposed, [columns][length], as the weights of a fully connected layer are.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import ADJ_X, ADJ_Y, FILTER, IN, PACKED
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    all_of,
    any_of,
    equal,
    greater,
)
from onnxlint_cmsis.cmsis_nn.float.both_types import F16, FLOAT_TYPES, FloatType
from onnxlint_cmsis.cmsis_nn.float.convolution import ABSENT, products
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, Branch, Delegation, ScratchSize, Wrapper
from onnxlint_cmsis.cmsis_nn.terms import term

DENSE = "Source/FullyConnectedFunctions/arm_fully_connected"
PRODUCT = "Source/FullyConnectedFunctions/arm_batch_matmul"
_WIDEST_GATHER = 65535 // 7
"""Largest step between the lanes of a gather for f16 (arm_nn_math_types.h:105-107)."""


def _nothing(kind: FloatType, name: str, line: int) -> tuple[ScratchSize, ...]:
    return (ScratchSize(term(0), kind.size_function(name, (line, line))),)


def _dense(kind: FloatType) -> Wrapper:
    origin = kind.at(DENSE, "arm_fully_connected_nhwc", (107, 107))
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
    origin = kind.at(PRODUCT, "arm_batch_matmul", (171, 172))
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
        all_of(equal(ADJ_X, 1), greater(IN.c, _WIDEST_GATHER)),
        all_of(equal(ADJ_Y, 1), greater(FILTER.c, _WIDEST_GATHER)),
    )
    scalar = [(NOT_MVE, TRUE)] + ([(MVE_ONLY, wide)] if kind is F16 else [])
    vectors = [*((isas, when, "scalar") for isas, when in scalar), (MVE_ONLY, TRUE, "mve")]
    first, second = products(kind, "batch_matmul", PRODUCT, "arm_batch_matmul", (173, 174))
    return (
        first._replace(when=all_of(plain, equal(PACKED, 1))),
        second._replace(when=plain),
        *(
            Delegation(
                kernel,
                f"{name}_{kind.name}_{code}",
                kind.at(PRODUCT, "arm_batch_matmul", lines, isas),
                all_of(when, adjoint),
                static=True,
            )
            for isas, when, code in vectors
            for name, lines, adjoint in (
                ("dot_strided_strided", (242, 255), both),
                ("dot_contig_strided", (204, 205), TRUE),
            )
        ),
        *products(kind, "fully_connected_nhwc", DENSE, "arm_fully_connected_core", (63, 63)),
    )


PRODUCT_DELEGATIONS = tuple(row for kind in FLOAT_TYPES for row in _product_delegations(kind))
