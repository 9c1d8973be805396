"""What a file with channel tiles would be, without writing it: operators and tensors as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from onnxlint_cmsis.fixers.memory.bands import BandCopy, Bands, in_bands
from onnxlint_cmsis.fixers.memory.channel_tiles import JOIN, JOIN_VERSION, group_tensors
from onnxlint_cmsis.fixers.memory.segments import CHANNELS, Segment
from onnxlint_cmsis.formats.flatbuffer import Span, Value
from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.formats.tflite.memory_plan import OFFLINE_PLAN
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.ground.named_tuples import NamedTuple

Tiles = Mapping["Segment", tuple[int, ...]]
"""Segments with the ends of their groups of channels, or of their bands."""


DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    JOIN: {"fused_activation_function": "NONE"},
    "GATHER": {"batch_dims": 0},
}
"""Options of new operators that a reader fills in."""


class Draft(NamedTuple):
    """A model with tiles."""

    model: TfliteModel
    """The model; constants keep the buffers that they were cut from, new ones lie behind the file."""
    origins: tuple[int, ...]
    """For each operator of the main subgraph the number of the one that it was made from."""


def drafted(model: TfliteModel, tiles: Tiles) -> Draft:
    """The model with segments in parts, as `tiled` writes it: without its memory plan. Raises NotAppliedError."""
    main = model.subgraphs[0]
    tensors = list(main.tensors)
    operators: list[TfliteOperator] = []
    origins: list[int] = []
    behind = _Behind(model)
    begun = {segment.operators[0]: (segment, ends) for segment, ends in tiles.items()}
    inside = {number for segment in tiles for number in segment.operators}
    readers = Counter(number for operator in main.operators for number in operator.inputs)
    shared = {number for number, count in readers.items() if count > 1}
    for number, operator in enumerate(main.operators):
        if number in begun and begun[number][0].axis != CHANNELS:
            bands = in_bands(model, *begun[number], len(tensors))
            for tensor, shape in bands.sizes.items():
                tensors[tensor] = tensors[tensor]._replace(shape=shape)
            tensors += map(behind.tensor, bands.tensors)
            for origin, new in _banded(main.operators, bands):
                origins.append(origin)
                operators.append(new)
        elif number in begun:
            for origin, new in _groups(main.operators, tensors, shared, *begun[number]):
                origins.append(origin)
                operators.append(new)
        elif number not in inside:
            origins.append(number)
            operators.append(operator)
    whole = main._replace(tensors=tuple(tensors), operators=tuple(operators))
    metadata = tuple(entry for entry in model.metadata if not tiles or entry[0] != OFFLINE_PLAN)
    subgraphs = (whole, *model.subgraphs[1:])
    return Draft(behind.model._replace(subgraphs=subgraphs, metadata=metadata), tuple(origins))


class _Behind:
    """A model whose new constants lie behind the bytes of its file."""

    def __init__(self, model: TfliteModel) -> None:
        self._model, self._more, self._spans = model, b"", list[Span]()

    def tensor(self, new: NewTensor) -> TfliteTensor:
        """A new tensor, with a buffer of its own where it has values."""
        buffer = 0
        if new.data:
            buffer = len(self._model.buffers) + len(self._spans)
            self._spans.append(Span(len(self._model.data) + len(self._more), len(new.data)))
            self._more += new.data
        return TfliteTensor(
            new.name, new.elem_type, new.shape, (), buffer, new.quantization, is_variable=False, encoding=""
        )

    @property
    def model(self) -> TfliteModel:
        """The model with the buffers so far."""
        if not self._spans:
            return self._model
        data = bytes(self._model.data) + self._more
        return self._model._replace(data=data, buffers=(*self._model.buffers, *self._spans))


def _banded(operators: tuple[TfliteOperator, ...], bands: Bands) -> Iterator[tuple[int, TfliteOperator]]:
    """Operators of all bands and those around them, with the number of that which they were made from."""
    for part in bands.operators:
        old = operators[part.origin]
        if isinstance(part, BandCopy):
            options = {**old.options, **part.options}
            yield part.origin, old._replace(inputs=part.inputs, outputs=(part.output,), options=options)
            continue
        new = part.operator
        more: dict[str, Value] = {**DEFAULTS.get(new.op, {}), **new.options}
        yield part.origin, old._replace(
            op=new.op, version=new.version, inputs=new.inputs, outputs=new.outputs, options_type=new.options_type,
            options=more,
        )  # fmt: skip


def _groups(
    operators: tuple[TfliteOperator, ...],
    tensors: list[TfliteTensor],
    shared: set[int],
    segment: Segment,
    ends: tuple[int, ...],
) -> Iterator[tuple[int, TfliteOperator]]:
    """Operators of all groups and the one that joins them, with the number of that which they were made from.

    Tensors of the first group take the place of those of the file that no other operator reads; others are added.
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
                if group == 0 and not joined and (tensor == result or tensor not in shared):
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
