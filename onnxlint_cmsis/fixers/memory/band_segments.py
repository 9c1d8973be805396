"""Layers that can be computed in bands: operators of whose results the last one alone is read elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnxlint_cmsis.fixers.memory.band_windows import LINES, RANK, band_window
from onnxlint_cmsis.fixers.memory.segments import COLUMNS, ROWS, Segment
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator
from onnxlint_cmsis.ground.errors import NotAppliedError

TYPES = ("INT8", "INT16")
"""Types of results in bands: float sums are not certified."""
CUT_TYPES = (*TYPES, "FLOAT32")
"""Types whose rows and columns GATHER or SLICE takes."""
MOST_LAYERS = 12
"""Operators of a segment."""


def band_segments(model: TfliteModel) -> Iterator[Segment]:
    """Every segment of two operators and more: along rows, and along columns where its result has more of these."""
    main = model.subgraphs[0]
    yield from _segments(model, ROWS)
    for segment in _segments(model, COLUMNS):
        _, height, width, _ = main.tensors[main.operators[segment.operators[-1]].outputs[0]].shape
        if width > height:
            yield segment


def _segments(model: TfliteModel, axis: int) -> Iterator[Segment]:
    main = model.subgraphs[0]
    readers = Counter(number for operator in main.operators for number in {*operator.inputs})
    readers.update(main.outputs)
    runs = [not not_in_bands(model, operator, axis) for operator in main.operators]
    for start in range(len(main.operators)):
        inside: Counter[int] = Counter()
        inner: set[int] = set()
        for end in range(start, min(start + MOST_LAYERS, len(main.operators))):
            operator = main.operators[end]
            if not runs[end]:
                break
            inside.update({*operator.inputs})
            (result,) = operator.outputs
            if end > start and all(inside[number] == readers[number] for number in inner):
                yield Segment(tuple(range(start, end + 1)), main.tensors[result].shape[axis], axis)
            inner.add(result)


def not_in_bands(model: TfliteModel, operator: TfliteOperator, axis: int = ROWS) -> str:
    """Why an operator of the main subgraph does not run in bands along an axis, as a clause; empty where it does."""
    return next(_obstacles(model, operator, axis), "")


def _obstacles(model: TfliteModel, operator: TfliteOperator, axis: int) -> Iterator[str]:
    """What stands in the way; each clause holds where none in front of it does."""
    main = model.subgraphs[0]
    if len(operator.outputs) != 1 or not operator.inputs:
        yield "it has no operand, or other than one result"
    result = main.tensors[operator.outputs[0]]
    operands = [main.tensors[number] for number in operator.inputs if number >= 0]
    read = [tensor for tensor in operands if not model.is_constant(tensor)]
    if result.elem_type not in TYPES:
        yield f"its result is {result.elem_type.lower()}, and only int8 and int16 are computed in parts"
    yield from (
        f"no operator takes {LINES[axis]} of {tensor.elem_type.lower()}, which it reads"
        for tensor in read
        if tensor.elem_type not in CUT_TYPES
    )
    if not read or any(len(tensor.shape) != RANK or tensor.is_variable for tensor in (result, *read)):
        yield "it computes other than maps of rows, columns and channels"
    if any(tensor.shape[0] != 1 for tensor in (result, *read)):
        yield "it computes several images"
    try:
        band_window(model, main, operator, axis)
    except NotAppliedError as error:
        yield str(error)
