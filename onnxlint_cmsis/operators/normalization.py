"""Normalizations: with numbers per channel, or with the mean and deviation of some axes."""

from __future__ import annotations

from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.convolution import channel_numbers
from onnxlint_cmsis.operators.demands import elementwise_demand
from onnxlint_cmsis.operators.mixing_ties import along_axis, group_normalization, layer_normalization, mean_variance
from onnxlint_cmsis.operators.new_lane import ZEROS, NewLane
from onnxlint_cmsis.operators.norm_values import (
    batch_normalization,
    deviation_normalization,
    norm_division,
    plane_normalization,
)
from onnxlint_cmsis.operators.record import OPAQUE, Operator, TieRule, replace
from onnxlint_cmsis.operators.views import ValueRule

SCALE_AND_VARIANCE = NewLane(ones=(1, 4))
"""New channels have scale 1 and variance 1, bias 0 and mean 0."""


def _normalization(name: str, axes: TieRule, risk: Risk, values: ValueRule | NotFollowed = OPAQUE) -> Operator:
    return Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS, values=values)


BATCH_NORMALIZATION = Operator(
    "BatchNormalization",
    channel_numbers,
    Elements.COMPUTED,
    Risk.NONE,
    Layout.IMAGE,
    new_lane=SCALE_AND_VARIANCE,
    values=batch_normalization,
    demand=elementwise_demand,
)


LAYER_NORMALIZATION = _normalization("LayerNormalization", layer_normalization, Risk.EPSILON, plane_normalization)

NORMALIZATIONS = (
    BATCH_NORMALIZATION,
    _normalization("GroupNormalization", group_normalization, Risk.NONE),
    _normalization("InstanceNormalization", channel_numbers, Risk.EPSILON, plane_normalization),
    LAYER_NORMALIZATION,
    _normalization("LpNormalization", along_axis, Risk.ALWAYS, norm_division),
    replace(_normalization("LRN", along_axis, Risk.NONE), roles=Roles(numbers={"axis": Stated(default=1)})),
    _normalization("MeanVarianceNormalization", mean_variance, Risk.ALWAYS, deviation_normalization),
    _normalization("RMSNormalization", layer_normalization, Risk.EPSILON, plane_normalization),
)
