"""Columns of zeros behind the weights of an int16 convolution, with as much more padding after."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.fits.zero_taps import more_behind, padded_apart, refusal_of_weights
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph

MOST_COLUMNS = 3
"""Columns of zeros that are added at most: four divides the columns then."""


def refusal_of_more_columns(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the layer's window cannot be wider."""
    if apart := padded_apart(record):
        return f"its padding is that of {apart}"
    sizes = (*record.layer.call.padding, *record.layer.call.pad_after) if record.layer else (None,)
    return "its padding is not known" if None in sizes else refusal_of_weights(graph, record)


def more_columns(record: LoweredLayer) -> Iterator[KernelCall]:
    """Calls with columns of zeros behind the weights and as much more padding, the fewest first."""
    if record.layer is not None:
        for count in range(1, MOST_COLUMNS + 1):
            yield more_behind(record.layer.call, "w", count)


MORE_COLUMNS = RepairRow(
    name="more-columns",
    what="puts columns of zeros behind the weights of an int16 convolution, with padding to match",
    hazards=frozenset({"conv-s16-odd-channel-columns"}),
    price="their products",
    unfit=refusal_of_more_columns,
    calls=more_columns,
    clean=True,
)
