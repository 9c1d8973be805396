"""A mean or a maximum over the plane or the time of an image as a pool of that window."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.reshape import UNSIZED, sizes_of_reshape
from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.means import LARGEST, window_of_largest, window_of_mean
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node

EIGHT_BITS = ("int8", "uint8")
POOLS_OF_INTEGERS = 12
"""First operator set whose MaxPool takes integers of 8 bits."""


def float_means(graph: Graph) -> Iterator[Node]:
    """Means of real numbers that a pool computes."""
    return (node for node in _means(graph) if not _is_of_integers(graph, node))


def integer_means(graph: Graph) -> Iterator[Node]:
    """Means next to integers that a pool computes, but for ties, which another order of sums may break."""
    return (node for node in _means(graph) if _is_of_integers(graph, node))


def _is_of_integers(graph: Graph, node: Node) -> bool:
    """Tell whether a node reads dequantized integers, or its result is quantized."""
    readers = graph.consumers.get(node.outputs[0], ())
    return dequantizes(graph.producers.get(node.inputs[0])) or any(map(quantizes, readers))


def _means(graph: Graph) -> Iterator[Node]:
    return (node for node in graph.nodes if not node.domain and window_of_mean(graph, node))


def maxima(graph: Graph) -> Iterator[Node]:
    """Maxima that a pool computes, of real numbers or of dequantized integers."""
    return (node for node in graph.nodes if not node.domain and window_of_largest(graph, node))


def refusal_of_mean_pool(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the mean or maximum has to stay."""
    node = record.node
    elem_type = graph.elem_type(node.inputs[0])
    if elem_type not in (("float32", *EIGHT_BITS) if canonical(node) == LARGEST else ("float32",)):
        return f"a pool of {elem_type} is not in all runtimes"
    if elem_type in EIGHT_BITS and node.opset < POOLS_OF_INTEGERS:
        return f"the MaxPool of operator set {node.opset} takes no {elem_type}"
    return UNSIZED if sizes_of_reshape(graph, node) is None else None


MEAN_POOL = RepairRow(
    name="mean-pool",
    what="makes an average pool of a mean over the plane or the time of an image",
    price="nothing",
    free=True,
    unfit=refusal_of_mean_pool,
    rule="no-entry-point",
    nodes=float_means,
)
INTEGER_MEAN_POOL = MEAN_POOL._replace(
    name="integer-mean-pool",
    what="makes an average pool of a mean of integers over the plane or the time of an image",
    price="a change of the outputs, of at most one step",
    nodes=integer_means,
    exact=False,
)
RUNTIME_MEAN_POOL = MEAN_POOL._replace(
    name="runtime-mean-pool",
    what="makes an average pool of a mean that converters write as MEAN, for which the runtime has no kernel of "
    "CMSIS-NN",
    rule="runtime-reference-code",
)
RUNTIME_INTEGER_MEAN_POOL = RUNTIME_MEAN_POOL._replace(
    name="runtime-integer-mean-pool",
    what="makes such a pool of a mean of integers",
    price=INTEGER_MEAN_POOL.price,
    nodes=integer_means,
    exact=False,
)
MAX_POOL = MEAN_POOL._replace(
    name="max-pool",
    what="makes a max pool of a maximum over the plane or the time of an image",
    nodes=maxima,
)
MEAN_POOLS = (MEAN_POOL, INTEGER_MEAN_POOL, RUNTIME_MEAN_POOL, RUNTIME_INTEGER_MEAN_POOL, MAX_POOL)
"""They go first: a pool of unequal scales is repaired after."""
