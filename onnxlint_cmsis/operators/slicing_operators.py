"""Operators that join axes, or take pieces of them."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.integer_folds import fold_concat, fold_gather, fold_slice
from onnxlint_cmsis.operators.new_lane import AS_READ
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
    new_lane=AS_READ,
    roles=Roles(step=1),
    sizes=size_ties.joined_sizes,
    values=concat_values,
    demand=concat_demand,
    fold=fold_concat,
)
PAD = Operator(
    "Pad",
    ties.pad,
    Elements.PADDED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=AS_READ,
    zero=(0,),
    values=pad_values,
    demand=pad_demand,
)


def _piece(name: str, axes: TieRule, movement: Movement, sizes: SizeRule | NotFollowed = COMPUTES) -> Operator:
    made = Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, new_lane=AS_READ)
    return replace(made, zero=(0,), sizes=sizes, movement=movement)


GATHER = replace(_piece("Gather", ties.gather, gather, size_ties.gathered_sizes), fold=fold_gather)
SLICE = replace(_piece("Slice", ties.slice_, slice_, size_ties.sliced_sizes), fold=fold_slice)
SPLIT = _piece("Split", ties.split, split)

SLICING = (
    CONCAT,
    GATHER,
    SLICE,
    SPLIT,
    PAD,
)
