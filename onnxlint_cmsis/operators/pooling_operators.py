"""Pooling: each channel on its own, the plane computed anew."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.ties.mixing_ties import pool
from onnxlint_cmsis.operators.values.demands import plane_demand
from onnxlint_cmsis.operators.values.planes import Summary, largest, mean, norm, pooled


def _pooling(name: str, summary: Summary, elements: Elements = Elements.COMPUTED) -> Operator:
    made = Operator(name, pool, elements, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(made, values=pooled(summary), demand=plane_demand)


AVERAGE_POOL = _pooling("AveragePool", mean)
GLOBAL_AVERAGE_POOL = _pooling("GlobalAveragePool", mean)
MAX_POOL = _pooling("MaxPool", largest, Elements.SELECTED)

POOLING = (
    *(AVERAGE_POOL, GLOBAL_AVERAGE_POOL),
    _pooling("GlobalLpPool", norm),
    _pooling("GlobalMaxPool", largest, Elements.SELECTED),
    _pooling("LpPool", norm),
    MAX_POOL,
)
