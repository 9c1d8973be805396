"""What a file with channel tiles would be, without writing it: operators and tensors as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.memory.channel_tiles import JOIN, JOIN_VERSION, group_tensors
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.memory.segments import Segment
    from onnxlint_cmsis.formats.flatbuffer import Value
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor

Tiles = Mapping["Segment", tuple[int, ...]]
"""Segments with the ends of their groups of channels."""


class Draft(NamedTuple):
    """A model with tiles."""

    model: TfliteModel
    """The model; constants keep the buffers that they were cut from."""
    origins: tuple[int, ...]
    """For each operator of the main subgraph the number of the one that it was made from."""


def drafted(model: TfliteModel, tiles: Tiles) -> Draft:
    """The model with segments in groups of channels, as `tiled` writes it."""
    main = model.subgraphs[0]
    tensors = list(main.tensors)
    operators: list[TfliteOperator] = []
    origins: list[int] = []
    begun = {segment.operators[0]: (segment, ends) for segment, ends in tiles.items()}
    inside = {number for segment in tiles for number in segment.operators}
    for number, operator in enumerate(main.operators):
        if number in begun:
            for origin, new in _groups(main.operators, tensors, *begun[number]):
                origins.append(origin)
                operators.append(new)
        elif number not in inside:
            origins.append(number)
            operators.append(operator)
    whole = main._replace(tensors=tuple(tensors), operators=tuple(operators))
    return Draft(model._replace(subgraphs=(whole, *model.subgraphs[1:])), tuple(origins))


def _groups(
    operators: tuple[TfliteOperator, ...], tensors: list[TfliteTensor], segment: Segment, ends: tuple[int, ...]
) -> Iterator[tuple[int, TfliteOperator]]:
    """Operators of all groups and the one that joins them, with the number of that which they were made from.

    Tensors of the first group take the place of those of the file; others are added.
    """
    whole, results = list(tensors), []
    for group, lanes in enumerate(range(start, end) for start, end in zip((0, *ends), ends, strict=False)):
        read = -1
        for number in segment.operators:
            operator = operators[number]
            result = operator.outputs[0]
            numbers = {}
            for tensor, part in group_tensors(operator, whole, lanes).items():
                joined = tensor == result and number == segment.operators[-1]
                if group == 0 and not joined:
                    tensors[tensor], numbers[tensor] = part, tensor
                else:
                    numbers[tensor] = len(tensors)
                    tensors.append(part)
            inputs = tuple(numbers.get(tensor, tensor) for tensor in operator.inputs)
            if read >= 0:
                inputs = (read, *inputs[1:])
            read = numbers[result]
            yield number, operator._replace(inputs=inputs, outputs=(read,))
        results.append(read)
    last = operators[segment.operators[-1]]
    options: dict[str, Value] = {"axis": 3, "fused_activation_function": "NONE"}
    join = last._replace(op=JOIN, version=JOIN_VERSION[whole[last.outputs[0]].elem_type], inputs=tuple(results))
    yield segment.operators[-1], join._replace(options_type="ConcatenationOptions", options=options)
