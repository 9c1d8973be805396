"""Operators that repeat, stretch or move elements between axes."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import AS_READ, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import resizing_ties as ties
from onnxlint_cmsis.operators.values.demands import elementwise_demand, resize_demand
from onnxlint_cmsis.operators.values.joins import expand_values
from onnxlint_cmsis.operators.values.movements import Movement, depth_to_space, space_to_depth
from onnxlint_cmsis.operators.values.planes import picked_values, resize_values
from onnxlint_cmsis.operators.values.value_view import ValueRule


def _blocks(name: str, axes: TieRule, movement: Movement) -> Operator:
    return Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.IMAGE, new_lane=AS_READ, zero=(0,), movement=movement)


def _repeating(name: str, axes: TieRule, values: ValueRule, roles: Roles | None = None) -> Operator:
    made = Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, new_lane=AS_READ)
    return replace(made, roles=roles or Roles(), zero=(0,), values=values)


def _resizing(name: str, roles: Roles | None = None) -> Operator:
    made = Operator(name, ties.resize, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(made, roles=roles or Roles(), values=resize_values, demand=resize_demand)


EXPAND = replace(_repeating("Expand", ties.expand, expand_values, Roles(sizes=(1,))), demand=elementwise_demand)

RESIZING = (
    EXPAND,
    _blocks("DepthToSpace", ties.depth_to_space, depth_to_space),
    _resizing("Resize", Roles(sizes=(3,))),
    _blocks("SpaceToDepth", ties.space_to_depth, space_to_depth),
    _repeating("Tile", ties.tile, picked_values),
    _resizing("Upsample"),
)
