"""Bands of which none takes much more than the others, by what is alive at once.

Bands behind the first stand beside the results of those in front, and what a segment reads ends with the last one.
So the bands in front of the last are smaller than it, and smaller towards it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.memory.drafts import Tiles, drafted
from onnxlint_cmsis.fixers.memory.segments import WEIGHTED, Segment
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.runtimes.tflm.free_plan import alive_in_steps
from onnxlint_cmsis.runtimes.tflm.lifetimes import planned_buffers

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel

BYTES_OF_OPERATOR, BYTES_OF_CHANNEL = 150, 8
"""About what an operator, and a channel of a convolution's result, keep in the arena."""
LEAST_LINES = 2
"""Lines of a band: one of a single row may run in another kernel."""
UNITS = 16
"""Part of the lines that is moved at first."""
NEVER_FITS = 1 << 62

Ends = tuple[int, ...]
"""The line behind the last one of each band."""


def guessed_bytes(model: TfliteModel, tiles: Tiles) -> int:
    """About the bytes that a model takes with tiles, in about a millisecond."""
    try:
        new = drafted(model, tiles).model
    except NotAppliedError:
        return NEVER_FITS
    main = new.subgraphs[0]
    results = (operator.outputs[0] for operator in main.operators if operator.op in WEIGHTED)
    kept = BYTES_OF_CHANNEL * sum(main.tensors[result].shape[-1] for result in results)
    kept += BYTES_OF_OPERATOR * len(main.operators)
    return max(alive_in_steps(new, planned_buffers(new, ())).values(), default=0) + kept


def level_ends(model: TfliteModel, others: Tiles, segment: Segment, ends: Ends) -> Ends:
    """Ends of as many bands, of which the one with most bytes alive has fewer, as far as moves of lines find them.

    `others` are the tiles of other segments.
    """
    lines, peaks = max(1, segment.size // UNITS), _peaks(model, others, segment, ends)
    while lines:
        moved = _moved(ends, peaks.index(max(peaks)), lines)
        ways = [(sorted(_peaks(model, others, segment, way), reverse=True), way) for way in moved]
        most, way = min(ways, default=(sorted(peaks, reverse=True), ends))
        if most[0] < max(peaks):
            peaks, ends = _peaks(model, others, segment, way), way
        else:
            lines //= 2
    return ends


def _moved(ends: Ends, high: int, lines: int) -> list[Ends]:
    """Ends with so many lines of one band moved to another one, for each other one; none where too few are left."""
    counts = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    if counts[high] < LEAST_LINES + lines:
        return []
    return [
        tuple(end - lines * (number >= high) + lines * (number >= low) for number, end in enumerate(ends))
        for low in range(len(ends))
        if low != high
    ]


def _peaks(model: TfliteModel, others: Tiles, segment: Segment, ends: Ends) -> list[int]:
    """Most bytes that are alive at once in each band of a segment."""
    try:
        new, origins = drafted(model, {**others, segment: ends})
    except NotAppliedError:
        return [NEVER_FITS] * len(ends)
    buffers, last = planned_buffers(new, ()), segment.operators[-1]
    alive, begun = alive_in_steps(new, buffers), {buffer.number: buffer.first for buffer in buffers}
    peaks, band = [0] * len(ends), 0
    for operator, origin in zip(new.subgraphs[0].operators, origins, strict=True):
        if band < len(ends) and origin in segment.operators:
            peaks[band] = max(peaks[band], alive[begun[operator.outputs[0]]])
            band += origin == last and operator.op == model.subgraphs[0].operators[last].op
    return peaks
