"""A `.tflite` file with segments in groups of channels, and in bands of rows or columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.fixers.memory.bands import BandCopy, Bands, in_bands
from onnxlint_cmsis.fixers.memory.channel_tiles import ChannelTile
from onnxlint_cmsis.fixers.memory.segments import CHANNELS, Segment
from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace


def tiled(path: str, data: bytes, tiles: Mapping[Segment, Sequence[int]]) -> bytes:
    """The file with segments in parts, which end as is given. Raises NotAppliedError, ModelError.

    The operators of the file compute the first part, with their tensors made smaller: a tensor that no operator
    touches would take room in the arena.
    """
    edit = TfliteEdit(path, data)
    for segment, ends in sorted(tiles.items()):
        if segment.axis != CHANNELS:
            _write(edit, in_bands(edit.model, segment, tuple(ends), edit.next_tensor(0)), segment)
        else:
            ChannelTile(edit, segment, tuple(ends)).write()
    return edit.data()


def _write(edit: TfliteEdit, bands: Bands, segment: Segment) -> None:
    """Write the bands of a segment."""
    for tensor, shape in bands.sizes.items():
        edit.set_shape(TensorPlace(0, tensor), shape)
    for tensor, values in bands.values.items():
        edit.set_values(TensorPlace(0, tensor), values)
    for new in bands.tensors:
        edit.add_tensor(0, new)
    last = OperatorPlace(0, segment.operators[-1])
    for part in bands.operators:
        if not isinstance(part, BandCopy):
            edit.insert(OperatorPlace(0, part.behind), part.operator)
            continue
        where = OperatorPlace(0, part.origin)
        if not part.first:
            edit.insert_copy(last, where, part.inputs, (part.output,), part.options)
            continue
        for position, tensor in enumerate(part.inputs):
            edit.set_input(where, position, tensor)
        edit.set_outputs(where, (part.output,))
        for name, value in part.options.items():
            edit.set_option(where, name, value)
