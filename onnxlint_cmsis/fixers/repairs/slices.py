"""A Split, or a Gather of one element, written as Slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.reshaped import put_reshaped
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.pieces import Piece, pieces
from onnxlint_cmsis.operators.slicing import SLICE

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_slices(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put a Slice in place of each result, and a Reshape behind that of a Gather whose index is no vector."""
    node, graph = record.node, edit.graph
    taken, result = pieces(graph, node), node.outputs[0]
    if len(graph.shape(result) or ()) != len(graph.shape(node.inputs[0]) or ()) and canonical(node) == "Gather":
        cut = edit.fresh(f"{result}_cut")
        _insert(edit, record, taken[0], cut)
        put_reshaped(edit, node, cut)
        return RepairMade("becomes a Slice and a Reshape", (cut,))
    for piece, name in zip(taken, node.outputs, strict=True):
        _insert(edit, record, piece, name)
    edit.remove(node)
    return RepairMade(f"becomes {len(taken)} Slices", tuple(node.outputs))


def _insert(edit: GraphEdit, record: LoweredLayer, piece: Piece, result: str) -> None:
    bounds = {"starts": piece.start, "ends": piece.end, "axes": piece.axis}
    inputs = [edit.add_integers(f"{result}_{name}", [value]) for name, value in bounds.items()]
    edit.insert(record.node, SLICE.name, [*edit.inputs(record.node)[:1], *inputs], [result])
