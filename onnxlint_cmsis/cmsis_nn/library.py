"""CMSIS-NN as the other rooms see it: what a call does on a target, whichever API it belongs to.

`route` and `cost` answer for a call of any API, `hazards` has the rows of one, and the scratch of a call is that of
its route. What else sets releases apart is asked here in words, so that no other room names a release or a function.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.apis import APIS, FLOAT, INTEGER, LEGACY, Api, api_of
from onnxlint_cmsis.cmsis_nn.cost import (
    MOST_INSTRUCTIONS,
    SAME,
    CallCost,
    Prediction,
    call_cost,
    cost,
    cost_of_route,
    instructions_range,
    predicted,
)
from onnxlint_cmsis.cmsis_nn.cost_records import COMPILER, integer_build, is_measured, measured_build, measured_with
from onnxlint_cmsis.cmsis_nn.data_ranges import range_reason
from onnxlint_cmsis.cmsis_nn.delegations import delegations_of
from onnxlint_cmsis.cmsis_nn.duties import Duty, duty_of
from onnxlint_cmsis.cmsis_nn.evidence import evidence
from onnxlint_cmsis.cmsis_nn.legacy.builds import runs_dsp_body
from onnxlint_cmsis.cmsis_nn.loops.plane import AxisSizes, Plane, plane
from onnxlint_cmsis.cmsis_nn.loops.sizes import LONGEST, SHORT
from onnxlint_cmsis.cmsis_nn.measured_pairs import measured_pairs
from onnxlint_cmsis.cmsis_nn.parameters import Parameters, parameters
from onnxlint_cmsis.cmsis_nn.reference_instructions import copy_range, reference_range
from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.cmsis_nn.route_classes import route_classes
from onnxlint_cmsis.cmsis_nn.tables import all_hazards, hazards, wrapper_of
from onnxlint_cmsis.ground.types import Function, Isa, KernelCall, Target

__all__ = [
    "APIS",
    "COMPILER",
    "FLOAT",
    "INTEGER",
    "LEGACY",
    "LONGEST",
    "MOST_INSTRUCTIONS",
    "SAME",
    "SHORT",
    "Api",
    "AxisSizes",
    "CallCost",
    "Duty",
    "Parameters",
    "Plane",
    "Prediction",
    "Route",
    "all_hazards",
    "api_of",
    "call_cost",
    "copy_range",
    "cost",
    "cost_of_route",
    "delegations_of",
    "duty_of",
    "evidence",
    "hazards",
    "instructions_range",
    "integer_build",
    "is_measured",
    "measured_build",
    "measured_pairs",
    "measured_with",
    "parameters",
    "plane",
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
    """Tell whether fully connected functions of s8 add the zero-point of the weights."""
    return holds(_OFFSET_SINCE, "", release)


def computes_groups_as_dense(taken: Route) -> bool:
    """Tell whether a grouped convolution is computed as a dense one."""
    return any(hazard.id in _AS_DENSE for hazard in taken.hazards)


ALL_PRODUCTS = 2**31
"""More products than any sum has."""


def adds_in_blocks(call: KernelCall, target: Target) -> bool:
    """Tell whether an s16 call adds SHORT products of a sum in 32 bits, and those behind them in 64.

    arm_fully_connected_s16 does so on DSP and MVE (arm_nn_vec_mat_mult_t_s16.c). So does arm_convolve_s16 from 6.0.0
    on, where it is not told that the bias is int32 (arm_nn_mat_mult_kernel_s16.c:65, arm_nn_mat_mult_nt_t_s16.c:65),
    but for one output pixel alone without MVE.
    """
    if call.types != "s16":
        return False
    if call.function is Function.FULLY_CONNECTED:
        return target.isa is not Isa.SCALAR
    if call.function is not Function.CONVOLVE or not holds(_BLOCKS_SINCE, "", target.release) or call.int32_bias:
        return False
    return target.isa is Isa.MVE or (call.output_dims.h, call.output_dims.w) != (1, 1)


def products_in_32_bits(call: KernelCall, target: Target) -> int:
    """How many products of one sum a call adds in 32 bits, at most; those behind them are added in 64.

    Without MVE arm_convolve_s16 adds all in 32 bits for the last of an odd number of output pixels. Before 6.0.0
    arm_convolve_fast_s16 takes up to 511 columns, as arm_depthwise_conv_fast_s16 does in all releases: no such sum
    leaves 32 bits. Their slow forms add in 64.
    """
    if call.types != "s16":
        return ALL_PRODUCTS
    if call.function is Function.CONVOLVE and holds(_BLOCKS_SINCE, "", target.release):
        height, width = call.output_dims.h, call.output_dims.w
        odd = bool(height and width and height * width % 2) and target.isa is not Isa.MVE
        return ALL_PRODUCTS if call.int32_bias or odd else SHORT
    return SHORT if adds_in_blocks(call, target) else 0
