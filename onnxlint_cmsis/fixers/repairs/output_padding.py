"""The output_padding of a ConvTranspose as rows and columns of zeros behind its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.zero_taps import surround

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_output_padding(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: the output keeps its size, to which input and filter now spread."""
    node = record.node
    extra = node.ints("output_padding")
    surround(edit, record, tuple((0, more) for more in extra))
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [size + more for size, more in zip(kernel, extra, strict=True)]} if kernel else {}
    edit.set_attributes(node, "output_padding", **larger)
    words = " x ".join(map(str, extra))
    return RepairMade(f"gets its output_padding of {words} as zeros behind its weights", (node.outputs[0],))
