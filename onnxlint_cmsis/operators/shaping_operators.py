"""Operators that give the same bytes another shape, or put axes into another order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.integer_folds import fold_reshape, fold_squeeze, fold_transpose, fold_unsqueeze
from onnxlint_cmsis.operators.new_lane import AS_READ
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import shaping_ties as ties
from onnxlint_cmsis.operators.ties.size_ties import same_sizes
from onnxlint_cmsis.operators.values.movements import regroup, transpose


def _renamed(name: str, axes: TieRule, layout: Layout = Layout.EITHER, **facets: Any) -> Operator:
    made = Operator(name, axes, Elements.RENAMED, Risk.NONE, layout, new_lane=AS_READ, zero=(0,), movement=regroup)
    return replace(made, **facets)


TRANSPOSE = _renamed(
    "Transpose",
    ties.transpose,
    Layout.ORDERED,
    elements=Elements.TRANSPOSED,
    movement=transpose,
    fold=fold_transpose,
)

SHAPING = (
    _renamed("Flatten", ties.flatten),
    _renamed("Reshape", ties.reshape, Layout.ORDERED, roles=Roles(sizes=(1,)), fold=fold_reshape),
    _renamed("Squeeze", ties.squeeze, sizes=same_sizes, fold=fold_squeeze),
    TRANSPOSE,
    _renamed("Unsqueeze", ties.unsqueeze, sizes=same_sizes, fold=fold_unsqueeze),
)
