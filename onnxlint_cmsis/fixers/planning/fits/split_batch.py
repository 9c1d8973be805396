"""A pool over a batch as one pool per image."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.fits.split_groups import layer_nodes
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

MOST_IMAGES = 16
"""Images above which splitting makes more nodes than anyone wants."""


def refusal_of_split_batch(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the layer cannot be split."""
    images = record.layer.call.input_dims.n if record.layer else None
    if not images or record.epilogue is None:
        return "the size of its batch is not known"
    if images > MOST_IMAGES:
        return f"its batch has {images} images, and splitting it would make more than {MOST_IMAGES} pools"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    return f"{wrong.label} is in a subgraph" if wrong is not None else None


def _one_image(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        call = record.layer.call
        yield call._replace(input_dims=call.input_dims._replace(n=1), output_dims=call.output_dims._replace(n=1))


SPLIT_BATCH = RepairRow(
    name="split-batch",
    what="makes one pool per image of one over a batch, between Slices and a Concat",
    hazards=frozenset({"avgpool-one-image", "avgpool-s16-one-image", "max-pool-one-image", "max-pool-s16-one-image"}),
    price="a call and copies for each image",
    unfit=refusal_of_split_batch,
    calls=_one_image,
)
