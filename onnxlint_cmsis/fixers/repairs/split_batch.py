"""A pool over a batch as one pool per image, between Slices and a Concat of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.split_groups import layer_nodes
from onnxlint_cmsis.fixers.repairs.split_groups import cut_input
from onnxlint_cmsis.operators.slicing import CONCAT

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_split_batch(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the pool and what follows for each image, and join the results. Raises NotAppliedError."""
    nodes = layer_nodes(record)
    last, images = nodes[-1], (record.layer.call.input_dims.n if record.layer else 0) or 0
    made_by, ends = [], []
    for image, part in enumerate(cut_input(edit, record, images, images, axis=0)):
        results = [part]
        for node in nodes:
            inputs = [results[-1], *edit.inputs(node)[1:]]
            results.append(edit.fresh(f"{node.outputs[0]}_image{image + 1}"))
            edit.insert_like(last, node, f"{results[-1]}_node", inputs, results[-1:])
        made_by.append(results[1])
        ends.append(results[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=0)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {images} pools, one per image, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))
