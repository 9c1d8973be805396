"""CMSIS-NN as the other rooms see it: what a call does on a target, whichever family of functions it belongs to.

`route` and `cost` answer for a call of any family, `hazards` has the rows of one, and the scratch of a call is that of
its route. What else sets releases apart is asked here in words, so that no other room names a release or a function.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost import (
    MOST_INSTRUCTIONS,
    Prediction,
    copy_range,
    cost,
    cost_of_route,
    predicted,
    reference_range,
)
from onnxlint_cmsis.cmsis_nn.cost_records import (
    COMPILER,
    instructions_range,
    measured_build,
    measured_pairs,
    range_reason,
)
from onnxlint_cmsis.cmsis_nn.entry_points import (
    Parameters,
    all_hazards,
    delegations_of,
    hazards,
    parameters,
    wrapper_of,
)
from onnxlint_cmsis.cmsis_nn.legacy.builds import runs_dsp_body
from onnxlint_cmsis.cmsis_nn.releases import FAMILIES, FLOAT, INTEGER, LEGACY, Family, family_of, holds
from onnxlint_cmsis.cmsis_nn.route import Route, evidence, route, route_classes
from onnxlint_cmsis.ground.types import Function, Isa, KernelCall, Target

__all__ = [
    "COMPILER",
    "FAMILIES",
    "FLOAT",
    "INTEGER",
    "LEGACY",
    "MOST_INSTRUCTIONS",
    "Family",
    "Parameters",
    "Prediction",
    "Route",
    "all_hazards",
    "copy_range",
    "cost",
    "cost_of_route",
    "delegations_of",
    "evidence",
    "family_of",
    "hazards",
    "instructions_range",
    "measured_build",
    "measured_pairs",
    "parameters",
    "predicted",
    "range_reason",
    "reference_range",
    "route",
    "route_classes",
    "runs_dsp_body",
    "wrapper_of",
]

_BLOCKS_SINCE = "6.0.0"
"""First release whose arm_convolve_s16 adds 512 products at a time in 32 bits, and goes on in 64."""
_OFFSET_SINCE = "6.0.0"
"""First release whose fully connected functions read the zero-point of the weights (arm_nn_vec_mat_mult_t_s8.c)."""
_AS_DENSE = ("conv-grouped-as-dense", "conv-s16-grouped-as-dense", "conv-s4-grouped-as-dense")
"""Hazards of releases that compute a grouped convolution as a dense one."""


def reads_weight_offset(release: str) -> bool:
    """Whether fully connected functions of s8 add the zero-point of the weights."""
    return holds(_OFFSET_SINCE, "", release)


def computes_groups_as_dense(taken: Route) -> bool:
    """Whether a grouped convolution is computed as a dense one."""
    return any(hazard.id in _AS_DENSE for hazard in taken.hazards)


def adds_in_blocks(call: KernelCall, release: str) -> bool:
    """Whether a call of s16 adds its products in blocks that 32 bits hold; older convolutions add all in 64 bits."""
    return call.function is not Function.CONVOLVE or call.types != "s16" or holds(_BLOCKS_SINCE, "", release)


def sums_in_32_bits(call: KernelCall, target: Target) -> bool:
    """Whether a call keeps some sum in 32 bits to the end."""
    if call.function is not Function.CONVOLVE or call.types != "s16":
        return True
    return holds(_BLOCKS_SINCE, "", target.release) and target.isa is not Isa.MVE
