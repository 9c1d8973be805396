"""The rows of all kernel families: wrappers and hazards, found by entry point."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from onnxlint_cmsis.cmsis_nn.apis import FLOAT, LEGACY, Api, api_of
from onnxlint_cmsis.cmsis_nn.entry_points import single_branch
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.ground.types import Target

ENTRIES = (
    "convolve_s8",
    "convolve_s16",
    "convolve_s4",
    "depthwise_s8",
    "depthwise_s16",
    "depthwise_s4",
    "transpose_conv_s8",
    "fully_connected_s8",
)
"""Entry points that choose between kernels."""

FAMILIES = {
    "convolve": "convolution",
    "depthwise": "depthwise",
    "transpose_conv": "transposed",
    "fully_connected": "dense",
}
"""File of each family of entry points."""

LEGACY_ENTRIES = (
    "convolve_q7",
    "convolve_q15",
    "depthwise_q7",
    "fully_connected_q7",
    "fully_connected_q15",
    "fully_connected_q7q15",
    "max_pool_q7",
    "avgpool_q7",
)
"""Choices that an application makes between the functions for q7 and q15 of CMSIS 5."""

_FLOAT_ROUTES = {
    "convolve_1x1": "convolution",
    "convolve_1_x_n": "convolution",
    "convolve": "convolution",
    "depthwise": "depthwise",
    "fully_connected": "products",
    "batch_matmul": "products",
    "max_pool": "pools",
    "softmax": "pools",
}

FLOAT_ENTRIES = tuple(f"{name}_{kind}" for name in _FLOAT_ROUTES for kind in FLOAT.types)
"""Entry points for f32 and f16 that choose between kernels."""


@cache
def wrapper_for(entry: str) -> Wrapper | None:
    """The wrapper of an entry point, or the choice in its place; None for an entry point without branches."""
    if entry in LEGACY_ENTRIES:
        from onnxlint_cmsis.cmsis_nn.legacy import routes

        return cast("Wrapper", getattr(routes, f"{entry.upper()}_ROUTE"))
    if entry in FLOAT_ENTRIES:
        file = _FLOAT_ROUTES[entry.rpartition("_")[0]]
        module = import_module(f"onnxlint_cmsis.cmsis_nn.float.{file}")
        return cast("Wrapper", getattr(module, f"{entry.upper()}_ROUTE"))
    if entry not in ENTRIES:
        return None
    family = next(family for family in FAMILIES if entry.startswith(family))
    module = import_module(f"onnxlint_cmsis.cmsis_nn.integer.{FAMILIES[family]}")
    return cast("Wrapper", getattr(module, f"{entry.upper()}_ROUTE"))


def wrapper_of(entry: str) -> Wrapper:
    """The wrapper of any entry point; for one without branches its function is the only branch."""
    return wrapper_for(entry) or single_branch(entry)


def all_hazards() -> tuple[Hazard, ...]:
    """Every row, in the order of the modules; errors of one kernel stand in the order the C source tests them."""
    return (*_integer(), *_legacy(), *_floats())


def hazards(api: Api) -> tuple[Hazard, ...]:
    """The rows of an API."""
    return _legacy() if api is LEGACY else _floats() if api is FLOAT else _integer()


@cache
def _floats() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.float import accuracy, convolution_hazards, depthwise_hazards, other_hazards

    return (
        *convolution_hazards.CONVOLUTION_HAZARDS,
        *depthwise_hazards.DEPTHWISE_HAZARDS,
        *other_hazards.OTHERS_HAZARDS,
        *accuracy.INEXACT_RESULTS,
    )


@cache
def _integer() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.integer import (
        convolution_hazards,
        depthwise_hazards,
        one_by_n_hazards,
        one_by_one_hazards,
        sixteen_bit_hazards,
        transpose_hazards,
        transposed_hazards,
        unbranched_hazards,
    )

    return (
        *one_by_n_hazards.ONE_BY_N_HAZARDS,
        *one_by_one_hazards.ONE_BY_ONE_HAZARDS,
        *convolution_hazards.CONVOLUTION_HAZARDS,
        *depthwise_hazards.DEPTHWISE_HAZARDS,
        *sixteen_bit_hazards.SIXTEEN_BIT_HAZARDS,
        *transposed_hazards.TRANSPOSE_CONV_HAZARDS,
        *transpose_hazards.TRANSPOSE_HAZARDS,
        *unbranched_hazards.OTHERS_HAZARDS,
    )


@cache
def _legacy() -> tuple[Hazard, ...]:
    from onnxlint_cmsis.cmsis_nn.legacy.hazards import LEGACY_HAZARDS
    from onnxlint_cmsis.cmsis_nn.legacy.wrong_results import LEGACY_WRONG_RESULTS

    return (*LEGACY_HAZARDS, *LEGACY_WRONG_RESULTS)


@cache
def hazards_of(entry: str, kernel: str, target: Target) -> tuple[Hazard, ...]:
    """The rows of one kernel reached through one entry point; with kernel "" those of the entry point itself."""
    return tuple(
        hazard
        for hazard in hazards(api_of(entry))
        if entry in hazard.entries
        and (kernel in hazard.kernels if kernel else not hazard.kernels)
        and hazard.on(target) is not False
    )


@cache
def hazard(identifier: str) -> Hazard:
    """The row of that name; KeyError where there is none."""
    return {row.id: row for row in all_hazards()}[identifier]
