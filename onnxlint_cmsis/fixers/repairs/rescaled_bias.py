"""The bias of a layer in another unit, where the scale of its input changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.constants import DEQUANTIZED, INT32, bias_slot
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.formats.onnx.element_codes import Codes
    from onnxlint_cmsis.lower.lowered import LoweredLayer


LIMITS = np.iinfo(np.int32)


def rescale_bias(edit: GraphEdit, record: LoweredLayer, old: float, new: float) -> None:
    """Store a layer's bias in steps of the new input scale times weight scale. Raises NotAppliedError.

    `old` and `new` are the scales of the layer's input. A bias in float stays.
    """
    graph, node = edit.graph, record.node
    slot = bias_slot(graph, node)
    if slot is None:
        position = operator_of(node).roles.bias
        if node.has(position):
            raise NotAppliedError(f"the bias of {node.label} is not stored as it is used")
    if slot is None or not slot.tensor or slot.kind not in (INT32, DEQUANTIZED):
        return
    reader = graph.nodes[slot.node]
    if slot.kind == INT32:
        integers = _reals(edit.stored(reader, slot.position).codes)
        edit.connect(reader, slot.position, _rescaled(edit, slot.tensor, integers * (old / new)))
        return
    dequantizer = graph.producers[reader.inputs[slot.position]]  # which gets the new scales
    integers = _reals(edit.stored(dequantizer, 0).codes)
    weights = np.array(record.weights.scales if record.weights and record.weights.scales else (1.0,), np.float32)
    units, have = np.float32(new) * weights, edit.stored(dequantizer, 1).codes
    if units.size not in (1, integers.size):
        raise NotAppliedError(f"the scales of {node.label} are not one for each output channel")
    reals = integers.reshape(-1) * np.resize(np.array(slot.scales), integers.size)
    numbers = (reals / np.resize(units, integers.size)).reshape(integers.shape)
    edit.connect(dequantizer, 0, _rescaled(edit, slot.tensor, numbers))
    if have.size < units.size:
        edit.set_attributes(dequantizer, axis=int(np.argmax(integers.shape)))
        if len(dequantizer.inputs) > 2:
            edit.connect(dequantizer, 2, "")  # zeros, one for each scale
    scales = units if have.size < units.size else np.resize(units, have.size).reshape(have.shape)
    edit.connect(dequantizer, 1, edit.add_constant(f"{slot.tensor}_new_scale", "float32", scales.view("<u4")))


def _reals(codes: Codes) -> NDArray[np.float64]:
    return codes.view(np.int32).astype(np.float64)


def _rescaled(edit: GraphEdit, tensor: str, numbers: NDArray[np.float64]) -> str:
    """Store rounded numbers as int32. Raises NotAppliedError where one has no room."""
    rounded = np.rint(numbers)
    if rounded.size and (rounded.min() < LIMITS.min or rounded.max() > LIMITS.max):
        raise NotAppliedError(f"the numbers of `{tensor}` leave int32 in the new unit")
    return edit.add_constant(f"{tensor}_rescaled", "int32", rounded.astype(np.int32).view("<u4"))
