"""Layers that can be computed in bands of rows: operators of whose results the last one alone is read elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnxlint_cmsis.fixers.memory.row_windows import RANK, row_window
from onnxlint_cmsis.fixers.memory.segments import ROWS, Segment
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteModel, TfliteOperator

TYPES = ("INT8", "INT16")
"""Types of results in bands: float sums are not certified."""
CUT_TYPES = (*TYPES, "FLOAT32")
"""Types whose rows GATHER or SLICE takes."""
MOST_LAYERS = 12
"""Operators of a segment."""


def row_segments(model: TfliteModel) -> Iterator[Segment]:
    """Every segment of two operators and more."""
    main = model.subgraphs[0]
    readers = Counter(number for operator in main.operators for number in {*operator.inputs})
    readers.update(main.outputs)
    runs = [_runs_in_bands(model, main, operator) for operator in main.operators]
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
                yield Segment(tuple(range(start, end + 1)), main.tensors[result].shape[1], ROWS)
            inner.add(result)


def _runs_in_bands(model: TfliteModel, main: Subgraph, operator: TfliteOperator) -> bool:
    if len(operator.outputs) != 1 or not operator.inputs:
        return False
    result = main.tensors[operator.outputs[0]]
    operands = [main.tensors[number] for number in operator.inputs if number >= 0]
    read = [tensor for tensor in operands if not model.is_constant(tensor)]
    plain = all(len(tensor.shape) == RANK and not tensor.is_variable for tensor in (result, *read))
    one_image = plain and all(tensor.shape[0] == 1 for tensor in (result, *read))
    typed = result.elem_type in TYPES and all(tensor.elem_type in CUT_TYPES for tensor in read)
    return bool(read) and one_image and typed and row_window(model, main, operator) is not None
