"""Rows and columns of zeros around the weights of a transposed convolution, with as much more padding."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.fits.zero_taps import refusal_of_weights
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

MOST_SHIFTED_TAPS = 16
"""Rows of zeros that are added at most."""


class ShiftedTaps(NamedTuple):
    """Other weights with the same sums."""

    rows: int
    """Rows of zeros before the weights; negative for rows that are cut off."""
    columns: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with them."""


def refusal_of_shifted_taps(graph: Graph, record: LoweredLayer) -> str | None:
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


def shifted(record: LoweredLayer) -> Iterator[ShiftedTaps]:
    """Weights with the same sums, those with the fewest products first."""
    sizes = shift_sizes(record.layer.call) if record.layer else None
    if record.layer is None or sizes is None:
        return
    call = record.layer.call
    unread = sizes.padding - (sizes.rows - 1) * sizes.stride
    wider = max(0, sizes.stride_w - sizes.width)
    cuts = [-min(unread, sizes.height - 1)] if unread > 0 else []
    for rows in (*cuts, *range(MOST_SHIFTED_TAPS + 1)):
        for columns in dict.fromkeys((0, wider)):
            if rows or columns:
                height, width = call.filter_dims.h or 0, call.filter_dims.w or 0
                moved = call._replace(
                    filter_dims=call.filter_dims._replace(h=height + rows, w=width + columns),
                    padding=call.padding._replace(h=(call.padding.h or 0) + rows),
                    pad_after=call.pad_after._replace(w=(call.pad_after.w or 0) + columns),
                )
                yield ShiftedTaps(rows, columns, moved)


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
    unfit=refusal_of_shifted_taps,
    calls=lambda record: (taps.call for taps in shifted(record)),
    clean=True,
)
