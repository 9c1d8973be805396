"""Pooling: each channel on its own, the plane computed anew."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.ties.mixing_ties import pool


def _pooling(name: str, elements: Elements = Elements.COMPUTED) -> Operator:
    return Operator(name, pool, elements, Risk.NONE, Layout.IMAGE)


AVERAGE_POOL = _pooling("AveragePool")
GLOBAL_AVERAGE_POOL = _pooling("GlobalAveragePool")

POOLING = (
    *(AVERAGE_POOL, GLOBAL_AVERAGE_POOL),
    _pooling("GlobalLpPool"),
    _pooling("GlobalMaxPool", Elements.SELECTED),
    _pooling("LpPool"),
    _pooling("MaxPool", Elements.SELECTED),
)
