"""Repairs of layers of a `.tflite` file: a bias of zeros and wider windows; all others say why they are not done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.bias import FLOAT, bias_slot
from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.formats.onnx_graph import tensor_codes
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.repair_table import REPAIRS
from onnxlint_cmsis.rewrite.repairs.wider_window import MOST, WIDER_WINDOW, wider
from onnxlint_cmsis.rewrite.repairs.zero_bias import ZERO_BIAS

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.tflite_graph_edit import TfliteGraphEdit

WEIGHTS, WIDTH = 1, 2
"""Input with the weights of a convolution, and their axis along the width."""


def no_bias(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer can take no bias."""
    slot = bias_slot(graph, record.node)
    if slot is None or slot.kind == FLOAT:
        return "the unit of its sums is not known, so that a bias cannot be quantized"
    return "it has a bias" if slot.tensor else ""


def add_bias(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Store zeros in the unit of input scale times weight scale."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    edit.add_bias(node, slot.position, np.zeros(channels, np.int64))
    return RepairMade("gets a bias of zeros", (node.outputs[0],))


def no_window(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.layer is None or record.layer.call.dilation.w != 1:
        return "it is dilated"
    return "" if graph.stores(record.node.inputs[WEIGHTS]) else "its weights are computed"


def widen(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Put columns of zeros around the weights, and leave the padding to the operator's option.

    SAME is half before and half after, as it is for every window that is tried; VALID fits one without padding.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    same = record.node.text("padding") == "SAME"
    fitting = (one for one in wider(record.layer.call) if same or not (one.call.padding.w or one.call.pad_after.w))
    found = next((one for one in fitting if edit.clean(one.call)), None)
    if found is None:
        raise NotAppliedError(f"no window of up to {MOST} more columns is computed rightly")
    stored = edit.graph.quantization.get(record.node.inputs[WEIGHTS])
    zeros = set(stored.zero_points) if stored else set()
    if len(zeros) > 1:
        raise NotAppliedError("the zero-points of its weights differ")
    old = edit.stored(record.node, WEIGHTS)
    more = [(0, 0)] * old.codes.ndim
    more[WIDTH] = (found.before, found.after)
    zero = tensor_codes.number(old.elem_type, min(zeros, default=0))
    codes = np.pad(old.codes, more, constant_values=np.array(zero, old.codes.dtype))
    edit.write(record.node, WEIGHTS, codes, old.elem_type)
    text = f"gets zeros along the width of its weights ({found.before} before, {found.after} behind)"
    return RepairMade(text, (record.node.outputs[0],))


def not_done(graph: Graph, record: LoweredLayer) -> str:  # noqa: ARG001 - no layer is different
    """Why a repair that needs more operators is not done."""
    return "in a .tflite file it would need operators that the application may not have registered"


def _left(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    raise NotAppliedError(not_done(edit.graph, record))


DONE = {
    ZERO_BIAS.name: ZERO_BIAS._replace(refusal=no_bias, apply=add_bias),
    WIDER_WINDOW.name: WIDER_WINDOW._replace(refusal=no_window, apply=widen),
}
TFLITE_REPAIRS: tuple[RepairRow, ...] = tuple(
    DONE.get(row.name, row._replace(refusal=not_done, apply=_left))
    for row in REPAIRS
    if row.hazards and row.exact and not (row.rule or row.as_written)
)
"""In the order of the repairs of ONNX models."""
