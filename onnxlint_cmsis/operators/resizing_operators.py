"""Operators that repeat, stretch or move elements between axes."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import resizing_ties as ties

RESIZING = (
    Operator("DepthToSpace", ties.depth_to_space, Elements.MOVED, Risk.NONE, Layout.IMAGE, zero=(0,)),
    Operator("Expand", ties.expand, Elements.MOVED, Risk.NONE, Layout.EITHER, roles=Roles(sizes=(1,)), zero=(0,)),
    Operator("Resize", ties.resize, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, roles=Roles(sizes=(3,))),
    Operator("SpaceToDepth", ties.space_to_depth, Elements.MOVED, Risk.NONE, Layout.IMAGE, zero=(0,)),
    Operator("Tile", ties.tile, Elements.MOVED, Risk.NONE, Layout.EITHER, zero=(0,)),
    Operator("Upsample", ties.resize, Elements.COMPUTED, Risk.NONE, Layout.IMAGE),
)
