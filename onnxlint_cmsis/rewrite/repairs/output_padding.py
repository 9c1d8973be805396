"""The output_padding of a ConvTranspose as rows and columns of zeros behind its weights.

The output has the same size, and is no longer larger than the input and the filter spread to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.zero_taps import refusal_of_weights, surround

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's output_padding cannot go into its weights."""
    node = record.node
    if not any(node.ints("output_padding")):
        return "it has no output_padding"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights."""
    node = record.node
    extra = node.ints("output_padding")
    surround(edit, record, tuple((0, more) for more in extra))
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [size + more for size, more in zip(kernel, extra, strict=True)]} if kernel else {}
    edit.set_attributes(node, "output_padding", **larger)
    words = " x ".join(map(str, extra))
    return RepairMade(f"gets its output_padding of {words} as zeros behind its weights", (node.outputs[0],))


OUTPUT_PADDING = RepairRow(
    name="output-padding",
    what="takes output_padding into the weights of a transposed convolution as rows and columns of zeros",
    hazards=frozenset({"tconv-output-past-rows"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal,
    apply=apply,
)
