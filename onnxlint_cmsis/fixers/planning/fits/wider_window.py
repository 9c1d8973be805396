"""Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.fits.zero_taps import padded_apart, refusal_of_weights
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.windows import halves, padding_for

WIDEST_WINDOW = 8
"""Columns of zeros that are added at most."""


class Wider(NamedTuple):
    """A wider window with the same sums."""

    before: int
    """Columns of zeros before the weights."""
    after: int
    """Columns of zeros behind them."""
    call: KernelCall
    """The call with it."""


def refusal_of_wider_window(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the layer's window cannot be wider."""
    if apart := padded_apart(record):
        return f"its padding is that of {apart}"
    if record.layer is None or window_sizes(record.layer.call) is None:
        return "its width or padding is not known"
    if record.layer.call.dilation.w != 1:
        return "it is dilated"
    return refusal_of_weights(graph, record)


def wider(record: LoweredLayer) -> Iterator[Wider]:
    """Windows with the same sums whose padding is half before and half after, the narrowest first.

    TensorFlow Lite's VALID takes those without padding alone; its SAME is half before and half after.
    """
    sizes = window_sizes(record.layer.call) if record.layer else None
    if record.layer is None or sizes is None:
        return
    call, valid = record.layer.call, record.node.text("padding") == "VALID"
    width, kernel, outputs, stride, padding = sizes
    for more in range(1, WIDEST_WINDOW + 1):
        total = padding_for(outputs, width, kernel + more, stride)
        first, last = halves(total)
        before = first - padding
        if total >= 0 and 0 <= before <= more and not (valid and total):
            widened = call._replace(
                filter_dims=call.filter_dims._replace(w=kernel + more),
                padding=call.padding._replace(w=first),
                pad_after=call.pad_after._replace(w=last),
            )
            yield Wider(before, more - before, widened)


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
    unfit=refusal_of_wider_window,
    calls=lambda record: (window.call for window in wider(record)),
    clean=True,
)
