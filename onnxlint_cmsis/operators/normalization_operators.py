"""Normalizations: with numbers per channel, or with the mean and deviation of some axes."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS, NewLane
from onnxlint_cmsis.operators.record import OPAQUE, Operator, TieRule
from onnxlint_cmsis.operators.ties import mixing_ties as ties
from onnxlint_cmsis.operators.ties.convolution_ties import channel_numbers
from onnxlint_cmsis.operators.values.demands import elementwise_demand
from onnxlint_cmsis.operators.values.normalizations import (
    batch_normalization,
    deviation_normalization,
    norm_division,
    plane_normalization,
)
from onnxlint_cmsis.operators.values.value_view import ValueRule

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


LAYER_NORMALIZATION = _normalization("LayerNormalization", ties.layer_normalization, Risk.EPSILON, plane_normalization)

NORMALIZATIONS = (
    BATCH_NORMALIZATION,
    _normalization("GroupNormalization", ties.group_normalization, Risk.NONE),
    _normalization("InstanceNormalization", channel_numbers, Risk.EPSILON, plane_normalization),
    LAYER_NORMALIZATION,
    _normalization("LpNormalization", ties.along_axis, Risk.ALWAYS, norm_division),
    _normalization("LRN", ties.along_axis, Risk.NONE),
    _normalization("MeanVarianceNormalization", ties.mean_variance, Risk.ALWAYS, deviation_normalization),
    _normalization("RMSNormalization", ties.layer_normalization, Risk.EPSILON, plane_normalization),
)
