"""Operators that give the same bytes another shape, or put axes into another order."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import shaping_ties as ties
from onnxlint_cmsis.operators.ties.size_ties import same_sizes

SHAPING = (
    Operator("Flatten", ties.flatten, Elements.RENAMED, Risk.NONE, Layout.EITHER, zero=(0,)),
    Operator("Reshape", ties.reshape, Elements.RENAMED, Risk.NONE, Layout.ORDERED, roles=Roles(sizes=(1,)), zero=(0,)),
    Operator("Squeeze", ties.squeeze, Elements.RENAMED, Risk.NONE, Layout.EITHER, zero=(0,), sizes=same_sizes),
    Operator("Transpose", ties.transpose, Elements.TRANSPOSED, Risk.NONE, Layout.ORDERED, zero=(0,)),
    Operator("Unsqueeze", ties.unsqueeze, Elements.RENAMED, Risk.NONE, Layout.EITHER, zero=(0,), sizes=same_sizes),
)
