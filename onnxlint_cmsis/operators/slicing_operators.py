"""Operators that join axes, or take pieces of them."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.record import COMPUTES, Operator, SizeRule, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import size_ties
from onnxlint_cmsis.operators.ties import slicing_ties as ties
from onnxlint_cmsis.operators.values.demands import concat_demand, pad_demand
from onnxlint_cmsis.operators.values.joins import concat_values, pad_values
from onnxlint_cmsis.operators.values.movements import Movement, gather, slice_, split

CONCAT = Operator(
    "Concat",
    ties.concat,
    Elements.JOINED,
    Risk.NONE,
    Layout.EITHER,
    roles=Roles(step=1),
    sizes=size_ties.joined_sizes,
    values=concat_values,
    demand=concat_demand,
)
PAD = Operator(
    "Pad", ties.pad, Elements.PADDED, Risk.NONE, Layout.EITHER, zero=(0,), values=pad_values, demand=pad_demand
)


def _piece(name: str, axes: TieRule, movement: Movement, sizes: SizeRule | NotFollowed = COMPUTES) -> Operator:
    return Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, zero=(0,), sizes=sizes, movement=movement)


SLICING = (
    CONCAT,
    _piece("Gather", ties.gather, gather, size_ties.gathered_sizes),
    _piece("Slice", ties.slice_, slice_, size_ties.sliced_sizes),
    _piece("Split", ties.split, split),
    PAD,
)
