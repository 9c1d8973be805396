"""Control flow, recurrence, and operators whose output does not come from data."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import control_ties as ties


def _control(
    name: str, axes: TieRule, elements: Elements, layout: Layout = Layout.EITHER, roles: Roles | None = None
) -> Operator:
    return Operator(name, axes, elements, Risk.NONE, layout, roles=roles or Roles())


NO_DATA = Roles(data=())

CONTROL = (
    _control("If", ties.branches, Elements.BODIES, roles=NO_DATA),
    _control("Loop", ties.crossing, Elements.BODIES, roles=NO_DATA),
    _control("Scan", ties.crossing, Elements.BODIES, roles=NO_DATA),
    _control("GRU", ties.recurrent, Elements.COMPUTED, Layout.ORDERED),
    _control("LSTM", ties.recurrent, Elements.COMPUTED, Layout.ORDERED),
    _control("RNN", ties.recurrent, Elements.COMPUTED, Layout.ORDERED),
    _control("Constant", ties.constant, Elements.NONE, roles=NO_DATA),
    _control("ConstantOfShape", ties.constant_of_shape, Elements.NONE, roles=Roles(data=(), sizes=(0,))),
    _control("Shape", ties.shape, Elements.NONE, roles=NO_DATA),
    _control("Size", ties.count, Elements.NONE, roles=NO_DATA),
)
