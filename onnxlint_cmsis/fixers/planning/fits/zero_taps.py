"""Rows and columns of zeros around or between the weights, as many as an attribute says."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import KernelCall, Pair
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.windows import reach


def refusal_of_weights(graph: Graph, record: LoweredLayer) -> str | None:
    """Why no zeros can be put around a layer's weights; None where they can."""
    node = record.node
    key = node.inputs[operator_of(node).roles.second]
    producer = graph.producers.get(key)
    if producer is not None and operator_of(producer).dequantizes:
        key = producer.inputs[0]
    if not graph.stores(key):
        return "its weights are not stored as they are used"
    if record.weights is not None and len(set(record.weights.zero_points or ())) != 1:
        return "its weights have several zero-points"
    return None


def padded_apart(record: LoweredLayer) -> str | None:
    """Name the nodes that pad in front of the layer, or the operator that the runtime puts there; None for none."""
    if record.folded:
        return ", ".join(record.folded)
    call = record.layer.call if record.layer else None
    alone = call is not None and not any((*call.padding, *call.pad_after))
    return "a PAD operator in front" if alone and any(record.node.ints("pads")) else None


def refusal_of_spread_taps(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the dilation cannot go into the weights."""
    if not any(step > 1 for step in record.node.ints("dilations")):
        return "it is not dilated"
    return refusal_of_weights(graph, record)


def _spread(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        call = record.layer.call
        sizes = zip(call.filter_dims[1:3], call.dilation, strict=True)
        height, width = (None if None in (size, step) else reach(size or 0, step or 0) for size, step in sizes)
        yield call._replace(filter_dims=call.filter_dims._replace(h=height, w=width), dilation=Pair(1, 1))


SPREAD_TAPS = RepairRow(
    name="spread-taps",
    what="takes the dilation of a convolution into its weights as rows and columns of zeros",
    hazards=frozenset({"conv-dilation-ignored"}),
    price="their products",
    unfit=refusal_of_spread_taps,
    calls=_spread,
)


def refusal_of_output_padding(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the layer's output_padding cannot go into its weights."""
    node = record.node
    if not any(node.ints("output_padding")):
        return "it has no output_padding"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


def _behind(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        call, extra = record.layer.call, record.node.ints("output_padding")
        for axis, more in zip("hw"[2 - len(extra) :], extra, strict=True):
            call = more_behind(call, axis, more)
        yield call


def more_behind(call: KernelCall, axis: str, count: int) -> KernelCall:
    """Return the call with so many more taps, and as much more padding, behind the window along `h` or `w`."""
    taps, after = getattr(call.filter_dims, axis) or 0, getattr(call.pad_after, axis) or 0
    step = getattr(call.dilation, axis) or 1
    return call._replace(
        filter_dims=call.filter_dims._replace(**{axis: taps + count}),
        pad_after=call.pad_after._replace(**{axis: after + count * step}),
    )


OUTPUT_PADDING = RepairRow(
    name="output-padding",
    what="takes output_padding into the weights of a transposed convolution as rows and columns of zeros",
    hazards=frozenset({"tconv-output-past-rows"}),
    price="their products",
    unfit=refusal_of_output_padding,
    calls=_behind,
)
