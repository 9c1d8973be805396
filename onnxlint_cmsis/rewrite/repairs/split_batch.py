"""A pool over a batch as one pool per image, between Slices and a Concat of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.operators.slicing_operators import CONCAT
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.split_groups import cut_input, layer_nodes

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

MOST = 16
"""Images above which splitting makes more nodes than anyone wants."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    images = record.layer.call.input_dims.n if record.layer else None
    if not images or record.epilogue is None:
        return "the size of its batch is not known"
    if images > MOST:
        return f"its batch has {images} images, and splitting it would make more than {MOST} pools"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    return f"{wrong.label} is in a subgraph" if wrong is not None else ""


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the pool and what follows for each image, and join the results. Raises NotAppliedError."""
    nodes = layer_nodes(record)
    last, images = nodes[-1], (record.layer.call.input_dims.n if record.layer else 0) or 0
    made_by, ends = [], []
    for image, part in enumerate(cut_input(edit, record, images, images, axis=0)):
        made = [part]
        for node in nodes:
            inputs = [made[-1], *edit.inputs(node)[1:]]
            made.append(edit.fresh(f"{node.outputs[0]}_image{image + 1}"))
            edit.insert_like(last, node, f"{made[-1]}_node", inputs, made[-1:])
        made_by.append(made[1])
        ends.append(made[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=0)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {images} pools, one per image, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))


SPLIT_BATCH = RepairRow(
    name="split-batch",
    what="makes one pool per image of one over a batch, between Slices and a Concat",
    hazards=frozenset({"avgpool-one-image", "avgpool-s16-one-image", "max-pool-one-image", "max-pool-s16-one-image"}),
    price="a call for each image, and copies of input and output by Slice and Concat",
    free=False,
    refusal=refusal,
    apply=apply,
)
