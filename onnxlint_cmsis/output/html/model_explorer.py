"""Predicted instructions as node data for Model Explorer (ai-edge-model-explorer 0.1.34, node_data_builder.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.output.html.report_input import ReportInput


GRADIENT = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f28c28"})
"""Colours from the fewest instructions to the most."""
HAZARD = {"bgColor": "#b3261e", "textColor": "#ffffff"}
"""A layer with a known error or wrong result."""


def node_data(given: ReportInput) -> dict[str, object]:
    """`GraphNodeData` of the first target: a value for each layer of known cost, by the first tensor that it makes."""
    target = given.model.settings.targets[0]
    tensors = {record.node.label: record.node.outputs[0] for record in given.model.lowered.records}
    results: dict[str, dict[str, object]] = {}
    for layer in given.version.layers.layers:
        known = layer.computes and layer.instructions is not None
        if known and layer.target == target.label and layer.node in tensors:
            results[tensors[layer.node]] = {"value": layer.instructions, **(HAZARD if layer.hazards else {})}
    name = f"predicted instructions, {target.label}; red: known error or wrong result"
    return {"results": results, "name": name, "gradient": list(GRADIENT)}
