"""Whether the channel count of a layer may change: the class behind it, who else decides it, or what locks it."""

from __future__ import annotations

from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
from onnxlint_cmsis.ground.findings import Resize
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.model.axes import Axis, leaves, resized

_ORDER = (Freedom.FREE, Freedom.COUPLED, Freedom.LOCKED)


def resize(dimensions: Dimensions, layer: Layer, variable: str, want: int) -> Resize:
    """Describe the change of a channel count to `want`.

    An axis made of several classes (a concatenation, a grid) changes by one of them: the freest whose lanes add up.
    """
    channel = layer.channels[variable]
    have = layer.call.variables()[variable] or 0
    group, lock = _class_behind(dimensions, layer, variable, (want - have) // channel.factor)
    names = tuple(decider.label for decider in group.deciders) if group else ()
    if group is not None and group.freedom is not Freedom.LOCKED:
        return Resize(variable, channel.tensor, channel.axis, have, want, group.freedom, names)
    return Resize(variable, channel.tensor, channel.axis, have, want, Freedom.LOCKED, names, lock)


def _class_behind(dimensions: Dimensions, layer: Layer, variable: str, more: int) -> tuple[DimensionClass | None, str]:
    """The class to change, or the reason why there is none."""
    channel = layer.channels[variable]
    if variable == "ch_mult":
        group = dimensions.multiplier_class(layer.node.index)
        return group, _first_lock(group, dimensions, channel, "the layer has no multiplier")
    axes = dimensions.axes(channel.tensor)
    if axes is None:
        return None, f"the rank of '{channel.tensor}' is unknown"
    groups = [group for group in _changeable(dimensions, axes[channel.axis], more) if group]
    group = min(groups, key=lambda group: _ORDER.index(group.freedom), default=None)
    reason = f"its structure {dimensions.channel_text(channel.tensor, channel.axis)} does not reach the size"
    return group, _first_lock(group, dimensions, channel, reason)


def _changeable(dimensions: Dimensions, axis: Axis, more: int) -> list[DimensionClass]:
    """Classes of an axis that can grow so that the axis grows by `more` elements."""
    groups = []
    for leaf in leaves(axis):
        if leaf >= len(dimensions.classes) or axis.size is None:
            continue
        group = dimensions.classes[leaf]
        one_more = resized(axis, {leaf: group.size + 1})
        if one_more is not None and more % (one_more - axis.size) == 0:
            groups.append(group)
    return groups


def _first_lock(group: DimensionClass | None, dimensions: Dimensions, channel: Channel, otherwise: str) -> str:
    if group is not None and group.locks:
        return str(group.locks[0])
    locks = dimensions.locks(channel.tensor, channel.axis) if dimensions.axes(channel.tensor) else ()
    return str(locks[0]) if locks else otherwise
