"""Operators that join axes, or take pieces of them."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.record import COMPUTES, Operator, SizeRule, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import size_ties
from onnxlint_cmsis.operators.ties import slicing_ties as ties

CONCAT = Operator(
    "Concat",
    ties.concat,
    Elements.JOINED,
    Risk.NONE,
    Layout.EITHER,
    roles=Roles(step=1),
    sizes=size_ties.joined_sizes,
)


def _piece(name: str, axes: TieRule, sizes: SizeRule | NotFollowed = COMPUTES) -> Operator:
    return Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, zero=(0,), sizes=sizes)


PAD = Operator("Pad", ties.pad, Elements.PADDED, Risk.NONE, Layout.EITHER, zero=(0,))

SLICING = (
    CONCAT,
    _piece("Gather", ties.gather, size_ties.gathered_sizes),
    _piece("Slice", ties.slice_, size_ties.sliced_sizes),
    _piece("Split", ties.split),
    PAD,
)
