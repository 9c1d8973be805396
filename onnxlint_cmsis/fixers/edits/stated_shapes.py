"""The shapes that an ONNX model states, after a resize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx.input_sizes import stated_size
from onnxlint_cmsis.model.axes import Axis, leaves
from onnxlint_cmsis.model.axes import resized as resized_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import TensorShapeProto, ValueInfoProto

    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.fixers.edits.onnx_sites import GraphScope, NodeSites
    from onnxlint_cmsis.fixers.planning.plan import Kept


def follow(sites: NodeSites, dimensions: Dimensions, kept: Kept) -> None:
    """Write the new sizes into every stated shape; drop a shape whose new sizes are not known."""
    sizes = {leaf: len(lanes) for leaf, lanes in kept.items()}
    for scope in sites.scopes:
        graph = scope.graph
        for value in (*graph.input, *graph.output):
            if not _follow(sites, scope, value, dimensions, sizes):
                value.type.tensor_type.ClearField("shape")
        dropped = [
            index for index, value in enumerate(graph.value_info) if not _follow(sites, scope, value, dimensions, sizes)
        ]
        for index in reversed(dropped):
            del graph.value_info[index]


def _follow(
    sites: NodeSites, scope: GraphScope, value: ValueInfoProto, dimensions: Dimensions, sizes: Mapping[int, int]
) -> bool:
    """Write the new sizes into one stated shape; False where they are not known."""
    shape = value.type.tensor_type.shape
    if not value.type.HasField("tensor_type") or not shape.dim:
        return True
    home = scope.homes.get(value.name)
    if home is not None:  # a constant, whose own shape is stated
        stated = home.shape()
        if stated is None or len(shape.dim) != len(stated):
            return False
        for dim, size in zip(shape.dim, stated, strict=True):
            if dim.dim_value != size:
                dim.dim_value = size
        return True
    axes = dimensions.axes(sites.key(scope, value.name)) or ()
    touched = [position for position, axis in enumerate(axes) if any(leaf in sizes for leaf in leaves(axis))]
    if touched and len(axes) != len(shape.dim):
        return False
    return all(_write(shape.dim[position], axes[position], sizes) for position in touched)


def _write(dim: TensorShapeProto.Dimension, axis: Axis, sizes: Mapping[int, int]) -> bool:
    new = resized_axis(axis, sizes)
    if new is None or stated_size(dim) not in (None, axis.size):
        return False
    if dim.HasField("dim_value") or dim.HasField("dim_param"):
        dim.dim_value = new
    return True
