"""Names for people: short forms of the names in a model, and the Python code that layers were exported from."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.short_names import short_names
from onnxlint_cmsis.ground.findings import PythonPlace
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class LayerNames(NamedTuple):
    """What people call the layers and tensors of a model."""

    names: Mapping[str, str]
    """Short forms of names that have one."""
    places: Mapping[str, PythonPlace]
    """Where layers were written, by label."""


def layer_names(model: ModelAnalysis) -> LayerNames:
    """Short names of all nodes and tensors of a model, and places of its layers, the same for every command.

    Operators of a `.tflite` file have numbers for names; there the tensors that they write are named like layers.
    """
    graph, layers = model.graph, [record.node for record in model.lowered.records]
    sources: dict[int, PythonPlace] = {}
    if graph.node_metadata:
        from onnxlint_cmsis.model.python_places import python_places

        sources = python_places(graph)
    places = {node.label: sources[node.index] for node in layers if node.index in sources}
    modules = {label: source.module for label, source in places.items() if source.module}
    written = [node.outputs[0] for node in graph.nodes if node.outputs] if model.execution.reads_file else []
    others = [name for node in graph.nodes for name in (node.label, *node.outputs)]
    others += [*graph.inputs, *graph.constants]
    names = short_names([*(node.label for node in layers), *written], filter(None, others), modules)
    copies = {copy.label: f"{names.get(copy.node.label, copy.node.label)}:transpose" for copy in model.copies}
    return LayerNames({**names, **copies}, places)
