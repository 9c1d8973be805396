"""TensorFlow Lite's operators that give elements other axes or other places, join tensors or grow them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.new_lane import AS_READ, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties import size_ties, tflite_shaping_ties
from onnxlint_cmsis.operators.ties import tflite_slicing_ties as ties
from onnxlint_cmsis.operators.ties.resizing_ties import expand, tile
from onnxlint_cmsis.operators.values import movements, tflite_movements, tflite_planes
from onnxlint_cmsis.operators.values.demands import concat_demand, elementwise_demand
from onnxlint_cmsis.operators.values.joins import concat_values, expand_values
from onnxlint_cmsis.operators.values.planes import picked_values
from onnxlint_cmsis.operators.values.stored_scales import called, demanded_like, through_scales


def _operator(name: str, axes: TieRule, elements: Elements, **facets: Any) -> Operator:
    made = Operator(name, axes, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=AS_READ)
    return replace(made, **facets)


def _renamed(name: str, axes: TieRule, **facets: Any) -> Operator:
    """The same bytes under another shape."""
    return _operator(name, axes, Elements.RENAMED, zero=(0,), movement=movements.regroup, **facets)


def _moved(name: str, axes: TieRule, movement: movements.Movement | None = None, **facets: Any) -> Operator:
    """Elements in other places."""
    return _operator(name, axes, Elements.MOVED, zero=(0,), movement=movement, **facets)


def _padded(name: str) -> Operator:
    values = through_scales(tflite_planes.pad_result, copies=True)
    return _operator(name, ties.pad, Elements.PADDED, zero=(0,), values=values, demand=tflite_planes.pad_need)


def _blocks(name: str) -> Operator:
    """Blocks of the plane in the batch; zeros may come in."""
    values = through_scales(tflite_planes.block_values, copies=True)
    axes, demand = ties.space_to_batch, tflite_planes.block_demand
    return _operator(name, axes, Elements.COMPUTED, new_lane=ZEROS, zero=(0,), values=values, demand=demand)


AS_CONCAT = called("Concat", axis="axis")
SECOND = Roles(data=(1,))
"""Data behind an input that names the axis."""

TFLITE_SHAPING = (
    _renamed("RESHAPE", tflite_shaping_ties.reshape, roles=Roles(sizes=(1,))),
    _renamed("SQUEEZE", tflite_shaping_ties.squeeze, sizes=size_ties.same_sizes),
    _renamed("EXPAND_DIMS", tflite_shaping_ties.expand_dims, sizes=size_ties.same_sizes),
    _moved("TRANSPOSE", tflite_shaping_ties.transpose, tflite_movements.transpose),
    _moved("SLICE", ties.slice_, tflite_movements.slice_),
    _moved("STRIDED_SLICE", ties.strided_slice, tflite_movements.strided_slice, sizes=size_ties.strided_sizes),
    _moved("SPLIT", ties.split, tflite_movements.split, roles=SECOND),
    _moved("SPLIT_V", ties.split_v, tflite_movements.split),
    _moved("UNPACK", tflite_shaping_ties.unpack),
    _moved("GATHER", ties.gather_along, movements.gather, sizes=size_ties.gathered_sizes),
    _moved("DEPTH_TO_SPACE", ties.depth_to_space, tflite_movements.depth_to_space),
    _moved("SPACE_TO_DEPTH", ties.space_to_depth, tflite_movements.space_to_depth),
    _moved("REVERSE_V2", ties.reverse, tflite_movements.reverse),
    _moved("TILE", tile, values=through_scales(picked_values, called("Tile"), copies=True)),
    _moved(
        "BROADCAST_TO",
        expand,
        roles=Roles(sizes=(1,)),
        values=through_scales(expand_values, copies=True),
        demand=elementwise_demand,
    ),
    _operator(
        "CONCATENATION",
        ties.concatenation,
        Elements.JOINED,
        roles=Roles(step=1),
        sizes=size_ties.joined_sizes,
        values=through_scales(concat_values, AS_CONCAT, copies=True),
        demand=demanded_like(concat_demand, AS_CONCAT),
    ),
    _operator("PACK", tflite_shaping_ties.pack, Elements.JOINED, roles=Roles(step=1), sizes=size_ties.joined_sizes),
    _padded("PAD"),
    _padded("PADV2"),
    _padded("MIRROR_PAD"),
    _blocks("BATCH_TO_SPACE_ND"),
    _blocks("SPACE_TO_BATCH_ND"),
)
