"""The bounds of a tensor's old integers kept as a Clip, where its new ones reach farther."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.epilogue import CLAMPING
from onnxlint_cmsis.lower.shared_scales import real_range
from onnxlint_cmsis.lower.stored_types import quantizes, weights_behind
from onnxlint_cmsis.operators.curve import CLIP, RELU
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.quantization import AffineQuantization
    from onnxlint_cmsis.model.graph import Graph, Node


BOUNDS_AS_INPUTS = 11
"""First operator set whose Clip takes its bounds as inputs."""
INFINITE = float("inf")


def keep_clamp(
    edit: GraphEdit, tensor: str, old: AffineQuantization, wanted: AffineQuantization, parameters: tuple[str, str]
) -> None:
    """Clamp what is stored in a tensor to its old range where the new one is wider by half a step or more.

    Saturation clamps: ONNX Runtime's quantizer leaves a Relu out where the zero-point is the lowest integer. Kernels
    with weights, Add, Mul and pools compute a Clip along; behind other nodes none is added. `parameters` are
    the names of the new scale and zero-point. Raises NotAppliedError.
    """
    record = next((record for record in edit.records if record.epilogue and record.epilogue.tensor == tensor), None)
    if record is None or record.layer is None or record.layer.call.function not in CLAMPING:
        return
    (low, high), (least, most), half = real_range(old), real_range(wanted), wanted.scale / 2
    floor, ceiling = _clamped(edit.graph, record)
    bounds = (
        low if max(least, floor) < low - half else None,
        high if min(most, ceiling) > high + half else None,
    )
    producer = edit.graph.producers[tensor]
    if bounds == (None, None):
        return
    if quantizes(producer):
        clipped = edit.fresh(f"{tensor}_clipped")
        _clip(edit, producer, (edit.inputs(producer)[0], clipped), bounds)
        edit.connect(producer, 0, clipped)
    elif tensor in edit.graph.ends:
        raise NotAppliedError(f"`{tensor}` is an output of the model, which no Clip can follow under its name")
    else:
        real, clipped, within = (edit.fresh(f"{tensor}_{word}") for word in ("real", "clipped", "within"))
        edit.insert_behind(producer, QUANTIZE_LINEAR.name, [clipped, *parameters], [within])
        _clip(edit, producer, (real, clipped), bounds, behind=True)
        edit.insert_behind(producer, DEQUANTIZE_LINEAR.name, [tensor, *parameters], [real])
        for reader in edit.graph.consumers.get(tensor, ()):
            for position in (position for position, name in enumerate(reader.inputs) if name == tensor):
                edit.connect(reader, position, within)


def _clip(
    edit: GraphEdit,
    node: Node,
    tensors: tuple[str, str],
    bounds: tuple[float | None, float | None],
    *,
    behind: bool = False,
) -> None:
    """Put a Clip right before or behind a node; `tensors` are its source and result."""
    source, result = tensors
    insert = edit.insert_behind if behind else edit.insert
    if edit.default_opset < BOUNDS_AS_INPUTS:
        low, high = bounds
        insert(node, CLIP.name, [source], [result], min=-INFINITE if low is None else low, max=high or INFINITE)
        return
    names = [
        "" if bound is None else edit.add_constant(f"{result}_{word}", "float32", np.array(bound, "<f4").view("<u4"))
        for word, bound in zip(("least", "most"), bounds, strict=True)
    ]
    insert(node, CLIP.name, [source, *names], [result])


def _clamped(graph: Graph, record: LoweredLayer) -> tuple[float, float]:
    """Bounds that the clamps of a layer give already."""
    low, high = -INFINITE, INFINITE
    for node in record.epilogue.clamps if record.epilogue else ():
        if operator_of(node) is RELU:
            low = max(low, 0.0)
            continue
        numbers = [weights_behind(graph, name) if name else None for name in node.inputs[1:3]]
        values = [constant.values() if constant is not None else None for constant in numbers]
        if values and values[0]:
            low = max(low, float(values[0][0]))
        if len(values) > 1 and values[1]:
            high = min(high, float(values[1][0]))
    return low, high
