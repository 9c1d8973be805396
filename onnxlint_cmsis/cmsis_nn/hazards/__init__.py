"""What goes wrong for a shape: error statuses, wrong results with status SUCCESS, overruns, 16-bit narrowing.

A row says only what is known and how it is known. What no shape decides is left out: the overflow with
CMSIS_NN_USE_SINGLE_ROUNDING (a build flag, up to 7.0.0), and sums that overflow for the values of some weights.
"""

from __future__ import annotations

from functools import cache

from onnxlint_cmsis.cmsis_nn.kinds_of_q import is_legacy
from onnxlint_cmsis.cmsis_nn.rows import Hazard
from onnxlint_cmsis.types import Target


def all_hazards() -> tuple[Hazard, ...]:
    """Every row, in the order of the modules; errors of one kernel stand in the order the C source tests them."""
    return (*_current(), *_legacy())


def hazards_near(entry: str) -> tuple[Hazard, ...]:
    """The rows of the API that an entry point belongs to."""
    return _legacy() if is_legacy(entry) else _current()


@cache
def _current() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.hazards import convolution_hazards as convolution
    from onnxlint_cmsis.cmsis_nn.hazards import depthwise_hazards as depthwise
    from onnxlint_cmsis.cmsis_nn.hazards import one_by_n_hazards as one_by_n
    from onnxlint_cmsis.cmsis_nn.hazards import one_by_one_hazards as one_by_one
    from onnxlint_cmsis.cmsis_nn.hazards import others_hazards as others
    from onnxlint_cmsis.cmsis_nn.hazards import sixteen_bit_hazards as sixteen_bit
    from onnxlint_cmsis.cmsis_nn.hazards import transpose_conv_hazards as transpose_conv
    from onnxlint_cmsis.cmsis_nn.hazards import transpose_hazards as transpose

    return (
        *one_by_n.HAZARDS,
        *one_by_one.HAZARDS,
        *convolution.HAZARDS,
        *depthwise.HAZARDS,
        *sixteen_bit.HAZARDS,
        *transpose_conv.HAZARDS,
        *transpose.HAZARDS,
        *others.HAZARDS,
    )


@cache
def _legacy() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.hazards import legacy_hazards as checked
    from onnxlint_cmsis.cmsis_nn.hazards import legacy_wrong_hazards as unchecked

    return (*checked.HAZARDS, *unchecked.HAZARDS)


@cache
def hazards_of(entry: str, kernel: str, target: Target) -> tuple[Hazard, ...]:
    """The rows of one kernel reached through one entry point; with kernel "" those of the entry point itself."""
    return tuple(
        hazard
        for hazard in hazards_near(entry)
        if entry in hazard.entries
        and (kernel in hazard.kernels if kernel else not hazard.kernels)
        and hazard.on(target) is not False
    )


@cache
def hazard(identifier: str) -> Hazard:
    """The row of that name; KeyError where there is none."""
    return {row.id: row for row in all_hazards()}[identifier]
