"""Shapes that the file states for values inside the model, after a resize."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.axes import Axis, leaves, resized
from onnxlint_cmsis.dims.result import Dimensions
from onnxlint_cmsis.formats.onnx_graph.input_shapes import stated_size
from onnxlint_cmsis.planning.lane_plan import Kept
from onnxlint_cmsis.rewrite.node_places import GraphScope, NodePlaces

if TYPE_CHECKING:
    from onnx import TensorShapeProto, ValueInfoProto


def follow(sites: NodePlaces, dimensions: Dimensions, kept: Kept) -> None:
    """Write the new sizes into every stated shape; drop a shape whose new sizes are not known."""
    sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
    for scope in sites.scopes:
        graph = scope.graph
        for value in (*graph.input, *graph.output):
            if not _follow(sites, scope, value, dimensions, sizes):
                value.type.tensor_type.ClearField("shape")
        dropped = [
            place for place, value in enumerate(graph.value_info) if not _follow(sites, scope, value, dimensions, sizes)
        ]
        for place in reversed(dropped):
            del graph.value_info[place]


def _follow(
    sites: NodePlaces, scope: GraphScope, value: ValueInfoProto, dimensions: Dimensions, sizes: Mapping[int, int]
) -> bool:
    """Write the new sizes into one stated shape; False where they are not known."""
    shape = value.type.tensor_type.shape
    if not value.type.HasField("tensor_type") or not shape.dim:
        return True
    home = scope.homes.get(value.name)
    if home is not None:
        return _state(shape, home.shape())
    axes = dimensions.axes(sites.key(scope, value.name)) or ()
    touched = [place for place, axis in enumerate(axes) if any(leaf in sizes for leaf in leaves(axis))]
    if touched and len(axes) != len(shape.dim):
        return False
    return all(_write(shape.dim[place], axes[place], sizes) for place in touched)


def _write(dim: TensorShapeProto.Dimension, axis: Axis, sizes: Mapping[int, int]) -> bool:
    new = resized(axis, sizes)
    if new is None or stated_size(dim) not in (None, axis.size):
        return False
    if dim.HasField("dim_value") or dim.HasField("dim_param"):
        dim.dim_value = new
    return True


def _state(shape: TensorShapeProto, sizes: tuple[int, ...] | None) -> bool:
    """Write a constant's own shape; False where the stated one has another rank."""
    if sizes is None or len(shape.dim) != len(sizes):
        return False
    for dim, size in zip(shape.dim, sizes, strict=True):
        if dim.dim_value != size:
            dim.dim_value = size
    return True
