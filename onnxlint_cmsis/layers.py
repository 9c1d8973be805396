"""What `onnxlint-cmsis layers` shows: every layer of a model with the kernel that runs it, on every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.types import Dims, Size

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.subject import Model
    from onnxlint_cmsis.cmsis_nn.route import Route
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.settings import Settings
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
    """Class of each channel count: `12 COUPLED #3`."""
    found = {}
    for variable, channel in layer.channels.items():
        group = model.dimensions.class_of(channel.tensor, channel.axis)
        if group is not None:
            found[variable] = f"{group.size} {group.freedom.value} #{group.id}"
    return found
