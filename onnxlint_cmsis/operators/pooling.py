"""Pooling: each channel on its own, the plane computed anew."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.tensors import NotFollowedError
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.convolution import image, new_plane
from onnxlint_cmsis.operators.demands import plane_demand
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import Operator, replace
from onnxlint_cmsis.operators.summaries import Summary, largest, mean, norm, pooled


def pool(node: Node, context: Context) -> None:
    """Tie batch and channels, lock the plane."""
    if node.int("channels_last"):
        raise NotFollowedError(f"{node.op_type} with channels last is not followed")
    axes = image(context, 0)
    if len(axes) < 3:
        raise NotFollowedError(f"pooling of rank {len(axes)}")
    size = 1 if node.op_type.startswith("Global") else None
    new_plane(context, axes, axes[context.roles.channels(len(axes))], size=size)
    if any(node.outputs[1:]):
        context.pin_all(axes, f"the indices of {node.op_type} count elements across all axes")


def _pooling(name: str, summary: Summary, elements: Elements = Elements.COMPUTED) -> Operator:
    operator = Operator(name, pool, elements, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(operator, values=pooled(summary), demand=plane_demand, slope=None if summary is norm else 1.0)


AVERAGE_POOL = _pooling("AveragePool", mean)
GLOBAL_AVERAGE_POOL = _pooling("GlobalAveragePool", mean)
LP_POOL = _pooling("LpPool", norm)
MAX_POOL = _pooling("MaxPool", largest, Elements.SELECTED)

POOLING = (
    *(AVERAGE_POOL, GLOBAL_AVERAGE_POOL),
    _pooling("GlobalLpPool", norm),
    _pooling("GlobalMaxPool", largest, Elements.SELECTED),
    LP_POOL,
    MAX_POOL,
)
