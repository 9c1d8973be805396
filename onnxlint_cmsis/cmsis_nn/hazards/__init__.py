"""What goes wrong for a shape: error statuses, wrong results with status SUCCESS, overruns, 16-bit narrowing.

A row says only what is known and how it is known. What no shape decides is left out: the overflow with
CMSIS_NN_USE_SINGLE_ROUNDING (a build flag, up to 7.0.0), and sums that overflow for the values of some weights.
"""

from __future__ import annotations

from functools import cache

from onnxlint_cmsis.cmsis_nn.rows import Hazard
from onnxlint_cmsis.types import Target


@cache
def all_hazards() -> tuple[Hazard, ...]:
    """Every row, in the order of the modules; errors of one kernel stand in the order the C source tests them."""
    from onnxlint_cmsis.cmsis_nn.hazards import convolution_hazards as convolution
    from onnxlint_cmsis.cmsis_nn.hazards import depthwise_hazards as depthwise
    from onnxlint_cmsis.cmsis_nn.hazards import legacy_hazards as legacy
    from onnxlint_cmsis.cmsis_nn.hazards import one_by_n_hazards as one_by_n
    from onnxlint_cmsis.cmsis_nn.hazards import one_by_one_hazards as one_by_one
    from onnxlint_cmsis.cmsis_nn.hazards import others_hazards as others
    from onnxlint_cmsis.cmsis_nn.hazards import sixteen_bit_hazards as sixteen_bit
    from onnxlint_cmsis.cmsis_nn.hazards import transpose_conv_hazards as transpose_conv

    return (
        *one_by_n.HAZARDS,
        *one_by_one.HAZARDS,
        *convolution.HAZARDS,
        *depthwise.HAZARDS,
        *sixteen_bit.HAZARDS,
        *transpose_conv.HAZARDS,
        *others.HAZARDS,
        *legacy.HAZARDS,
    )


@cache
def hazards_of(entry: str, kernel: str, target: Target) -> tuple[Hazard, ...]:
    """The rows of one kernel reached through one entry point; with kernel "" those of the entry point itself."""
    return tuple(
        hazard
        for hazard in all_hazards()
        if entry in hazard.entries
        and (kernel in hazard.kernels if kernel else not hazard.kernels)
        and hazard.origin.covers(target)
    )


@cache
def hazard(identifier: str) -> Hazard:
    """The row of that name; KeyError where there is none."""
    return {row.id: row for row in all_hazards()}[identifier]
