"""A difference of two computed tensors as a sum, which has a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.stored_types import dequantizes
from onnxlint_cmsis.model.graph import Graph, Node

BROADCASTING = 7
"""First operator set whose Sub broadcasts by the shapes of its operands alone."""


def _nodes(graph: Graph) -> Iterator[Node]:
    return (
        node
        for node in graph.nodes
        if canonical(node) == "Sub"
        and graph.elem_type(node.outputs[0]) == "float32"
        and not any(name in graph.constants or dequantizes(graph.producers.get(name)) for name in node.inputs)
    )


def refusal_of_negated(_graph: Graph, record: LoweredLayer) -> str | None:
    """Why the difference has to stay."""
    node = record.node
    return None if node.opset >= BROADCASTING else f"the Sub of operator set {node.opset} broadcasts by attributes"


NEGATED = RepairRow(
    name="negated",
    what="writes a difference a - b as the sum a + b * -1",
    price="a product with -1, where no layer in front takes it into its weights",
    free=True,
    unfit=refusal_of_negated,
    rule="no-entry-point",
    nodes=_nodes,
)
