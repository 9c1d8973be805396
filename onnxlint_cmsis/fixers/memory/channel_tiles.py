"""A segment computed in groups of channels, and their results joined: nothing is computed twice, weights are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.edits.tflite_constants import stored_elements
from onnxlint_cmsis.fixers.memory.segments import WEIGHTED, Segment, channel_axis
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.formats.tflite.new_operators import NewOperator
from onnxlint_cmsis.formats.tflite.new_tables import NewTensor
from onnxlint_cmsis.formats.tflite.places import OperatorPlace, TensorPlace
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.edit import TfliteEdit
    from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator, TfliteTensor
    from onnxlint_cmsis.model.graph import StoredQuantization

JOIN = "CONCATENATION"
MOST_GROUPS = 10
"""Inputs of the largest CONCATENATION that TensorFlow Lite Micro takes (kernels/concatenation.cc, kMaxInputNum)."""
JOIN_VERSION = {"INT8": 2, "INT16": 3}
"""Version of CONCATENATION that reads a type (lite/tools/versioning/op_version.cc)."""


def group_ends(channels: int, groups: int, unit: int = 4) -> tuple[int, ...]:
    """Where groups of nearly equal size end, in multiples of `unit` channels; fewer groups where there are too few."""
    units = -(-channels // unit)
    ends = {min(channels, unit * -(-units * number // groups)) for number in range(1, groups + 1)}
    return tuple(sorted(ends))


def group_tensors(operator: TfliteOperator, tensors: Sequence[TfliteTensor], lanes: range) -> dict[int, TfliteTensor]:
    """The tensors of an operator that have the channels it makes, as they are for a group of them.

    Raises NotAppliedError where scales do not lie along the channels.
    """
    axes = {operator.outputs[0]: len(tensors[operator.outputs[0]].shape) - 1}
    if operator.op in WEIGHTED:
        along = zip(operator.inputs[1:], (channel_axis(operator), 0), strict=False)
        axes |= {number: axis for number, axis in along if number >= 0}
    cut = {}
    for number, axis in axes.items():
        shape = [*tensors[number].shape]
        shape[axis] = len(lanes)
        quantization = _scales(tensors[number], axis, lanes)
        cut[number] = tensors[number]._replace(shape=tuple(shape), quantization=quantization)
    return cut


class ChannelTile:
    """One segment in groups of channels, which the operators of the file begin with."""

    def __init__(self, edit: TfliteEdit, segment: Segment, ends: tuple[int, ...]) -> None:
        self._edit, self._segment = edit, segment
        self._groups = [range(start, end) for start, end in zip((0, *ends), ends, strict=False)]
        self._main = edit.model.subgraphs[0]
        self._readers = Counter(number for operator in self._main.operators for number in operator.inputs)

    def write(self) -> None:
        """Cut the operators of the file to the first group, add the other groups, and join the results."""
        last = OperatorPlace(0, self._segment.operators[-1])
        results = [self._group(number, last) for number in range(len(self._groups))]
        (whole,) = self._main.operators[last.number].outputs
        kind = self._main.tensors[whole].elem_type
        join = NewOperator(JOIN, JOIN_VERSION[kind], tuple(results), (whole,), "ConcatenationOptions", {"axis": 3})
        self._edit.insert(last, join)

    def _group(self, number: int, last: OperatorPlace) -> int:
        """Compute a group; returns the tensor with its result."""
        lanes, read = self._groups[number], -1
        for index in self._segment.operators:
            operator = self._main.operators[index]
            where = OperatorPlace(0, index)
            (whole,) = operator.outputs
            parts = group_tensors(operator, self._main.tensors, lanes)
            part = parts.pop(whole)
            if number == 0 and where != last:
                self._edit.set_shape(TensorPlace(0, whole), part.shape)
                result = whole
            else:
                name = f"{part.name}_group{number + 1}"
                new = NewTensor(name, part.elem_type, part.shape, b"", part.quantization)
                result = self._edit.add_tensor(0, new)
            inputs = [read if read >= 0 else operator.inputs[0]]
            for position, tensor in enumerate(operator.inputs[1:]):
                axis = channel_axis(operator) if position == 0 else 0
                inputs.append(self._constant(tensor, parts[tensor], axis, number, lanes) if tensor in parts else tensor)
            if number == 0:
                for position, tensor in enumerate(inputs):
                    if tensor != operator.inputs[position]:
                        self._edit.set_input(where, position, tensor)
                self._edit.set_outputs(where, (result,))
            else:
                self._edit.insert_copy(last, where, inputs, (result,))
            read = result
        return read

    def _constant(self, tensor: int, part: TfliteTensor, axis: int, number: int, lanes: range) -> int:
        """The tensor with a group's part of a constant: that of the file where nothing else reads it."""
        old, where = self._main.tensors[tensor], TensorPlace(0, tensor)
        stored = stored_elements(self._edit.model, old)
        raw = element_codes.packed(np.take(stored.codes, lanes, axis=axis), BITS[stored.elem_type])
        same = part.quantization == old.quantization
        if number or self._readers[tensor] > 1 or not (same or self._edit.has_own_quantization(where)):
            name = f"{old.name}_group{number + 1}"
            return self._edit.add_tensor(0, NewTensor(name, old.elem_type, part.shape, raw, part.quantization))
        self._edit.set_values(where, raw)
        self._edit.set_shape(where, part.shape)
        if part.quantization is not None and not same:
            self._edit.set_quantization(where, part.quantization)
        return tensor


def _scales(tensor: TfliteTensor, axis: int, lanes: range) -> StoredQuantization | None:
    """Scales and zero-points of a group; a vector has one axis, whatever older converters wrote."""
    stored = tensor.quantization
    if stored is None or len(stored.scales) < 2:
        return stored
    if len(stored.scales) != tensor.shape[axis] or (len(tensor.shape) > 1 and stored.axis != axis):
        raise NotAppliedError(f"the scales of `{tensor.name}` do not lie along its channels")
    numbers = len(stored.zero_points) == len(stored.scales)
    return stored._replace(
        scales=tuple(stored.scales[lane] for lane in lanes),
        zero_points=tuple(stored.zero_points[lane] for lane in lanes) if numbers else stored.zero_points,
        axis=stored.axis if len(tensor.shape) > 1 else 0,
    )
