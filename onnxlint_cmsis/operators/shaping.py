"""Operators that give the same bytes another shape, or put axes into another order."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.operators import regroup_ties as ties
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.folds import fold_reshape, fold_squeeze, fold_transpose, fold_unsqueeze
from onnxlint_cmsis.operators.moves import move_ones, move_regroup, transpose
from onnxlint_cmsis.operators.new_lane import AS_READ
from onnxlint_cmsis.operators.record import Operator, TieRule, replace
from onnxlint_cmsis.operators.size_rules import same_sizes


def _renamed(name: str, axes: TieRule, layout: Layout = Layout.EITHER, **facets: Any) -> Operator:
    operator = Operator(
        name, axes, Elements.RENAMED, Risk.NONE, layout, new_lane=AS_READ, zero=(0,), movement=move_regroup
    )
    return replace(operator, **facets)


TRANSPOSE = _renamed(
    "Transpose",
    ties.transpose,
    Layout.ORDERED,
    elements=Elements.TRANSPOSED,
    movement=transpose,
    fold=fold_transpose,
)

AXES = Roles(numbers={"axes": Stated("axes", 1)})

SHAPING = (
    _renamed("Flatten", ties.flatten),
    _renamed("Reshape", ties.reshape, Layout.ORDERED, roles=Roles(sizes=(1,)), fold=fold_reshape),
    _renamed("Squeeze", ties.squeeze, roles=AXES, sizes=same_sizes, movement=move_ones, fold=fold_squeeze),
    TRANSPOSE,
    _renamed("Unsqueeze", ties.unsqueeze, roles=AXES, sizes=same_sizes, movement=move_ones, fold=fold_unsqueeze),
)
