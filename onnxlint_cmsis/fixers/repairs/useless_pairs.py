"""DequantizeLinear and QuantizeLinear taken out where the second gives back the integers that the first reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_useless_pairs(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Let all that read the QuantizeLinear read what the DequantizeLinear reads."""
    node, graph = record.node, edit.graph
    source = edit.inputs(graph.producers[node.inputs[0]])[0]
    for reader in graph.consumers.get(node.outputs[0], ()):
        for position, name in enumerate(reader.inputs):
            if name == node.outputs[0]:
                edit.connect(reader, position, source)
    return RepairMade("goes, with the DequantizeLinear before it", ())
