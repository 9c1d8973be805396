"""Rows and columns of zeros around or between the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph


def refusal_of_weights(graph: Graph, record: LoweredLayer) -> str:
    """Why no zeros can be put around a layer's weights; empty where they can."""
    node = record.node
    key = node.inputs[operator_of(node).roles.second]
    producer = graph.producers.get(key)
    if producer is not None and operator_of(producer).dequantizes:
        key = producer.inputs[0]
    if not graph.stores(key):
        return "its weights are not stored as they are used"
    if record.weights is not None and len(set(record.weights.zero_points or ())) != 1:
        return "its weights have several zero-points"
    return ""


def refusal_of_shifted_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's weights cannot be shifted."""
    node = record.node
    if record.layer is None or shift_sizes(record.layer.call) is None:
        return "its sizes or padding are not known"
    if len(graph.shape(node.outputs[0]) or ()) != 4:
        return "it has no rows"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


class ShiftSizes(NamedTuple):
    """Sizes of a transposed convolution that its padding and weights follow from; all are known."""

    rows: int
    height: int
    width: int
    stride: int
    stride_w: int
    padding: int


def shift_sizes(call: KernelCall) -> ShiftSizes | None:
    """Sizes of a transposed convolution; None where one is not known."""
    sizes = (call.input_dims.h, *call.filter_dims[1:3], call.stride.h, call.stride.w, call.padding.h)
    known = [size for size in (*sizes, *call.padding, *call.pad_after) if size is not None]
    return ShiftSizes(*known[: len(sizes)]) if len(known) == len(sizes) + 4 else None


REPAIRED_BY_SHIFT = (
    "tconv-padding-not-in-strides",
    "tconv-rows-past-output",
    "tconv-rows-past-output-main",
    "tconv-padding-above-input",
    "tconv-scratch-too-small",
)
"""Geometries that the direct kernel computes wrongly or runs past a buffer with."""
SHIFTED_TAPS = RepairRow(
    name="shifted-taps",
    what="puts rows or columns of zeros around the weights of a transposed convolution, with padding to match",
    hazards=frozenset(REPAIRED_BY_SHIFT),
    price="their products",
    refusal=refusal_of_shifted_taps,
)


def refusal_of_spread_taps(graph: Graph, record: LoweredLayer) -> str:
    """Why the dilation cannot go into the weights."""
    if not any(step > 1 for step in record.node.ints("dilations")):
        return "it is not dilated"
    return refusal_of_weights(graph, record)


SPREAD_TAPS = RepairRow(
    name="spread-taps",
    what="takes the dilation of a convolution into its weights as rows and columns of zeros",
    hazards=frozenset({"conv-dilation-ignored"}),
    price="their products",
    refusal=refusal_of_spread_taps,
)


def refusal_of_wider_window(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    if record.layer is None or window_sizes(record.layer.call) is None:
        return "its width or padding is not known"
    if record.layer.call.dilation.w != 1:
        return "it is dilated"
    return refusal_of_weights(graph, record)


def window_sizes(call: KernelCall) -> tuple[int, int, int, int, int] | None:
    """Width of input, window and output, stride and padding before; None where one is not known."""
    sizes = (call.input_dims.w, call.filter_dims.w, call.output_dims.w, call.stride.w, call.padding.w)
    known = [size for size in (*sizes, *call.padding, *call.pad_after) if size is not None]
    return (known[0], known[1], known[2], known[3], known[4]) if len(known) == len(sizes) + 4 else None


REPAIRED_BY_WIDTH = (
    "conv-1xn-geometry-refused",
    "conv-1xn-narrow-output-refused",
    "conv-1xn-wrong-values",
    "conv-1xn-reads-past-input",
    "conv-1xn-s4-geometry-refused",
    "conv-1xn-s4-narrow-output-refused",
)
"""Geometries that the 1xN kernels on MVE refuse or compute wrongly."""
WIDER_WINDOW = RepairRow(
    name="wider-window",
    what="puts columns of zeros around the weights of a 1xN convolution, with padding to match",
    hazards=frozenset(REPAIRED_BY_WIDTH),
    price="their products",
    refusal=refusal_of_wider_window,
)


def refusal_of_output_padding(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's output_padding cannot go into its weights."""
    node = record.node
    if not any(node.ints("output_padding")):
        return "it has no output_padding"
    if node.ints("output_shape") or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return "its padding follows from the size of its output"
    return refusal_of_weights(graph, record)


OUTPUT_PADDING = RepairRow(
    name="output-padding",
    what="takes output_padding into the weights of a transposed convolution as rows and columns of zeros",
    hazards=frozenset({"tconv-output-past-rows"}),
    price="their products",
    refusal=refusal_of_output_padding,
)


def refusal_of_more_columns(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer's window cannot be wider."""
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)}"
    sizes = (*record.layer.call.padding, *record.layer.call.pad_after) if record.layer else (None,)
    return "its padding is not known" if None in sizes else refusal_of_weights(graph, record)


MORE_COLUMNS = RepairRow(
    name="more-columns",
    what="puts columns of zeros behind the weights of an int16 convolution, with padding to match",
    hazards=frozenset({"conv-s16-odd-channel-columns"}),
    price="their products",
    refusal=refusal_of_more_columns,
)
