"""Normalizations: with numbers per channel, or with the mean and deviation of some axes."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import mixing_ties as ties
from onnxlint_cmsis.operators.ties.convolution_ties import channel_numbers

SCALE_AND_VARIANCE = Roles(ones=(1, 4))
"""New channels of constants have scale 1 and variance 1."""


def _normalization(
    name: str, axes: TieRule, risk: Risk, layout: Layout = Layout.EITHER, roles: Roles | None = None
) -> Operator:
    return Operator(name, axes, Elements.COMPUTED, risk, layout, roles=roles or Roles())


BATCH_NORMALIZATION = _normalization("BatchNormalization", channel_numbers, Risk.NONE, Layout.IMAGE, SCALE_AND_VARIANCE)

NORMALIZATIONS = (
    BATCH_NORMALIZATION,
    _normalization("GroupNormalization", ties.group_normalization, Risk.NONE),
    _normalization("InstanceNormalization", channel_numbers, Risk.EPSILON),
    _normalization("LayerNormalization", ties.layer_normalization, Risk.EPSILON),
    _normalization("LpNormalization", ties.along_axis, Risk.ALWAYS),
    _normalization("LRN", ties.along_axis, Risk.NONE),
    _normalization("MeanVarianceNormalization", ties.mean_variance, Risk.ALWAYS),
    _normalization("RMSNormalization", ties.layer_normalization, Risk.EPSILON),
)
