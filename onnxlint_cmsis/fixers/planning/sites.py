"""The axes of a layer's channels, and the layer's call at other sizes of their classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.fixers.planning.measures import Numbers
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import POINTWISE, Function, KernelCall
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.model.axes import Axis, AxisForm, leaves, resized

Channels = tuple[int, int]
"""Input and output channels of a call."""


def by_leaf(sites: Iterable[Site]) -> dict[int, list[Site]]:
    """The layers along each class."""
    along: dict[int, list[Site]] = {}
    for site in sites:
        for leaf in site.leaves:
            along.setdefault(leaf, []).append(site)
    return along


class Site(NamedTuple):
    """A layer whose channel counts are known as axes."""

    layer: Layer
    """The layer."""
    inputs: Axis
    """Axis of `input_dims.c`."""
    outputs: Axis
    """Axis of `output_dims.c`."""
    factor: int
    """`input_dims.c` is this many times the axis."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """Leaves of both axes, each once."""
        return tuple(dict.fromkeys(leaves(self.inputs) + leaves(self.outputs)))

    @property
    def plain(self) -> bool:
        """Tell if each axis is one class as a whole, so that other sizes of the classes give other channel counts."""
        return self.inputs.form is self.outputs.form is AxisForm.LEAF

    def channels(self, sizes: Mapping[int, int]) -> Channels | None:
        """Channel counts at these sizes; None where one is symbolic."""
        inputs, outputs = resized(self.inputs, sizes), resized(self.outputs, sizes)
        return None if inputs is None or outputs is None else (inputs * self.factor, outputs)

    def grid(self, scope: Sequence[int], candidates: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers] | None:
        """Input and output channels for every choice of candidates in `scope`; the last leaf varies fastest."""
        axes = np.ix_(*(np.array(sizes, dtype=np.int64) for sizes in candidates))
        channels = self.channels(cast("Mapping[int, int]", dict(zip(scope, axes, strict=True))))
        if channels is None:
            return None
        shape = tuple(len(sizes) for sizes in candidates)
        inputs, outputs = (np.broadcast_to(sizes, shape).ravel() for sizes in channels)
        return inputs, outputs

    def calls(self, inputs: Numbers, outputs: Numbers) -> KernelCall:
        """The calls with these channel counts, arrays of one length, as one call."""
        return self.call(cast("Channels", (inputs, outputs)))

    def call(self, channels: Channels) -> KernelCall:
        """The call with these channel counts and every number that follows from them."""
        inputs, outputs = channels
        layer = self.layer
        if layer.call.function in POINTWISE:
            return _pointwise(layer.call, inputs)
        layer = layer._replace(call=layer.resized("input_dims.c", inputs))
        if layer.call.function is Function.DEPTHWISE:
            return layer.resized("ch_mult", outputs // inputs)
        return layer.resized("output_dims.c", outputs)


def site_of(layer: Layer, dimensions: Dimensions) -> Site | None:
    """The layer's channel axes; None where they are not known."""
    if layer.call.function in POINTWISE:
        axis = _channel_axis(layer, dimensions.axes(layer.node.inputs[0]))
        return None if axis is None else _checked(Site(layer, axis, axis, 1))
    places = [layer.channels.get(name) for name in ("input_dims.c", "output_dims.c")]
    if None in places:
        return None
    located = [(dimensions.axes(channels.tensor), channels) for channels in places if channels]
    if any(axes is None for axes, _ in located):
        return None
    (inputs, first), (outputs, second) = located
    assert inputs is not None
    assert outputs is not None
    if first.axis >= len(inputs) or second.axis >= len(outputs):
        return None
    return _checked(Site(layer, inputs[first.axis], outputs[second.axis], first.factor))


def _checked(site: Site) -> Site | None:
    """The site, if its axes have the sizes of the call."""
    call = site.layer.call
    return site if site.channels({}) == (call.input_dims.c, call.output_dims.c) else None


def _channel_axis(layer: Layer, axes: tuple[Axis, ...] | None) -> Axis | None:
    """Axis of a layer's channels: where it says, or where ONNX has them."""
    if not axes or len(axes) > 4:
        return None
    if "input_dims.c" in layer.channels:
        return axes[layer.channels["input_dims.c"].axis]
    return axes[1] if len(axes) > 2 else axes[-1]


def _pointwise(call: KernelCall, channels: int) -> KernelCall:
    """The call with other channels; a second operand of one channel that is spread over them keeps it."""
    spread = call.filter_dims.c != call.input_dims.c
    one_operand = call.function in (Function.AVERAGE_POOL, Function.MAX_POOL)
    call = call._replace(
        input_dims=call.input_dims._replace(c=channels), output_dims=call.output_dims._replace(c=channels)
    )
    if spread or one_operand:
        return call
    return call._replace(filter_dims=call.filter_dims._replace(c=channels))
