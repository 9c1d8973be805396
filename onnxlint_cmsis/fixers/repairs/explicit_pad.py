"""The padding of a convolution as a Pad node in front, where the kernel cannot pad as the layer asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.explicit_pad import input_dequantizer, pad_amounts
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.operators.slicing import PAD

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_explicit_pad(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the Pad in front, between DequantizeLinear and QuantizeLinear where the layer has these.

    arm_pad_s8 (from 7.0.0 on; reference code before) writes the padded input, and the kernel pads nothing.
    """
    pads = pad_amounts(edit.graph, record)
    if pads is None or not any(pads):
        raise NotAppliedError(f"{record.node.label} has no padding")
    result = padded(edit, record, pads)
    edit.set_attributes(record.node, "auto_pad", pads=[0] * (len(pads) - 4))
    half = len(pads) // 2
    before, after = (", ".join(map(str, side)) for side in (pads[2:half], pads[half + 2 :]))
    text = f"is padded by a Pad node in front ({before} before and {after} after)"
    return RepairMade(text, (result, record.node.outputs[0]))


def padded(edit: GraphEdit, record: LoweredLayer, pads: tuple[int, ...]) -> str:
    """Put a Pad of these amounts in front of a layer; returns what it makes."""
    node, graph = record.node, edit.graph
    where = operator_of(node).roles.first
    tensor, result = node.inputs[where], edit.fresh(f"{node.inputs[where]}_padded")
    inputs = [tensor, edit.add_integers(f"{result}_amounts", pads)]
    carried = parameters_of(node, where)
    if carried is not None and node.has(carried.zero_point):
        inputs.append(node.inputs[carried.zero_point])
    edit.insert(node, PAD.name, inputs, [result])
    dequantizer = input_dequantizer(graph, record) if carried is None and record.inputs else None
    edit.connect(node, where, edit.requantized(node, result, dequantizer) if dequantizer else result)
    return result
