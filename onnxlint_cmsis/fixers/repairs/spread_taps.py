"""The dilation of a convolution as rows and columns of zeros between its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.zero_taps import spread

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_spread_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros between the weights. Raises NotAppliedError."""
    node, steps = record.node, record.node.ints("dilations")
    kernel = spread(edit, record, steps)
    larger = {"kernel_shape": list(kernel)} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "dilations", **larger)
    words = " x ".join(map(str, steps))
    return RepairMade(f"gets its dilation of {words} as zeros between its weights", (node.outputs[0],))
