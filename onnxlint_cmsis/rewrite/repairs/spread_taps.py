"""The dilation of a convolution as rows and columns of zeros between its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.zero_taps import refusal_of_weights, spread

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the dilation cannot go into the weights."""
    if not any(step > 1 for step in record.node.ints("dilations")):
        return "it is not dilated"
    return refusal_of_weights(graph, record)


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros between the weights. Raises NotAppliedError."""
    node, steps = record.node, record.node.ints("dilations")
    kernel = spread(edit, record, steps)
    larger = {"kernel_shape": list(kernel)} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "dilations", **larger)
    words = " x ".join(map(str, steps))
    return RepairMade(f"gets its dilation of {words} as zeros between its weights", (node.outputs[0],))


SPREAD_TAPS = RepairRow(
    name="spread-taps",
    what="takes the dilation of a convolution into its weights as rows and columns of zeros",
    hazards=frozenset({"conv-dilation-ignored"}),
    price="the products with these zeros",
    free=False,
    refusal=refusal,
    apply=apply,
)
