"""What `onnxlint-cmsis layers` shows: every layer of a model with the kernel that runs it, on every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.types import Dims, Freedom, Size

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.subject import Model
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.dims.result import Dimensions
    from onnxlint_cmsis.lower.layer import Channel, Layer
    from onnxlint_cmsis.types import Target


def layers_table(path: str, settings: Settings, data: bytes | None = None) -> list[dict[str, object]]:
    """One row per layer and target, in file order; ModelError where the file cannot be read."""
    from onnxlint_cmsis.checks.subject import Model
    from onnxlint_cmsis.cmsis_nn.route import route
    from onnxlint_cmsis.lower import lower
    from onnxlint_cmsis.onnx_graph.load import load

    graph = load(path, input_shapes=settings.input_shapes, data=data)
    model = Model(graph)
    return [
        _row(model, layer, target, route(layer.call, target))
        for layer in lower(graph, settings.assume).layers
        for target in settings.targets
    ]


def _row(model: Model, layer: Layer, target: Target, taken: Route) -> dict[str, object]:
    return {
        "node": layer.node.label,
        "op": layer.node.op_type,
        "target": target.label,
        "entry": layer.call.entry,
        "assumed": layer.assumed,
        "input": _sizes(layer.call.input_dims),
        "filter": _sizes(layer.call.filter_dims),
        "output": _sizes(layer.call.output_dims),
        "folded": list(layer.folded),
        "kernel": taken.kernel,
        "effective": taken.effective,
        "macs": layer.macs,
        "scratch": taken.buffer_size,
        "classes": _classes(model, layer),
        "hazards": [hazard.id for hazard in taken.hazards],
        "undecided": sorted(taken.undecided),
    }


def _sizes(dims: Dims) -> list[Size]:
    return [dims.n, dims.h, dims.w, dims.c]


def _classes(model: Model, layer: Layer) -> dict[str, str]:
    """Classes of each channel count: `12 COUPLED #3`, or `256 = 16 x 4 x 4: FREE #5` where it has structure."""
    found = {}
    for variable, channel in layer.channels.items():
        text = _class_text(model.dimensions, layer, variable, channel)
        if text:
            found[variable] = text
    return found


def _class_text(dimensions: Dimensions, layer: Layer, variable: str, channel: Channel) -> str:
    group = dimensions.class_of(channel.tensor, channel.axis)
    if variable == "ch_mult":
        group = dimensions.multiplier_class(layer.node.index)
    if group is not None:
        return f"{group.size} {group.freedom.value} #{group.id}"
    if variable == "ch_mult" or dimensions.axes(channel.tensor) is None:
        return ""
    groups = [dimensions.class_with_id(leaf) for leaf in dimensions.leaves(channel.tensor, channel.axis)]
    parts = [f"{group.freedom.value} #{group.id}" for group in groups if group is not None]
    return f"{dimensions.channel_text(channel.tensor, channel.axis)}: {', '.join(parts) or Freedom.LOCKED.value}"
