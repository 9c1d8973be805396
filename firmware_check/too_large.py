"""Refuses models that no board holds, by their sizes, before they are quantized or compiled."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from firmware_check.build import STACK
from firmware_check.errors import FirmwareError
from firmware_check.opening import Options, read_graph
from firmware_check.quantize import is_float
from firmware_check.reading.builders import BUILDS
from onnxlint_cmsis.analysis.activations import activations
from onnxlint_cmsis.analysis.peak import peak_of
from onnxlint_cmsis.formats.format import format_of
from onnxlint_cmsis.ground.types import WEIGHTED, Function
from onnxlint_cmsis.lower.epilogue import CLAMPS
from onnxlint_cmsis.lower.lowering import lower
from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Graph


_HALF = (onnx.TensorProto.INT4, onnx.TensorProto.UINT4)
"""Types of which two elements lie in a byte."""
_SMALL = 4096
"""Constants of at most so many elements are not counted: they may be a bias, a scale or a shape."""


def refuse_too_large(path: str, boards: Sequence[Board], options: Options) -> None:
    """Refuse a model whose weights or activations exceed each of the boards.

    Accepts a file that is no model, and a model whose layers run one by one: the caller opens it.

    Raises:
        FirmwareError: no board holds the model.

    """
    if format_of(path).interpreter or options.assume:  # it is laid out as it is, and its sizes say whether it fits
        return
    try:
        graph = read_graph(path, options)
        model = onnx.load(path, load_external_data=False)
    except (FirmwareError, OSError, DecodeError):
        return
    lowered = lower(graph)
    if all(map(_runs, lowered.records)):
        weights, most_flash = sum(_weights(model)), max(boards, key=lambda board: board.flash.size)
        if weights > most_flash.flash.size:
            raise FirmwareError(
                f"{path}: the model does not fit the board: its weights take {weights:,} bytes; {most_flash.cpu}'s"
                f" board has {most_flash.flash.size:,} of flash; --per-layer needs less"
            )
        needed = _activations(graph, lowered, is_float(model))
        most_ram = max(boards, key=lambda board: board.ram.size)
        if needed + STACK > most_ram.ram.size:
            raise FirmwareError(
                f"{path}: the model does not fit the board: at least {needed:,} bytes of activations at a time and"
                f" {STACK:,} of stack; {most_ram.cpu}'s board has {most_ram.ram.size:,} of RAM; --per-layer needs less"
            )


def _weights(model: onnx.ModelProto) -> list[int]:
    """Bytes of each large constant as int8, or in the type of the file if that is smaller."""
    sizes = []
    for tensor in model.graph.initializer:
        elements = prod(tensor.dims)
        if elements > _SMALL:
            sizes.append(-(-elements // 2) if tensor.data_type in _HALF else elements)
    return sizes


def _activations(graph: Graph, lowered: Lowered, real: bool) -> int:
    """A lower bound of the bytes alive at a time; in a float model, the most that a layer with weights needs."""
    uses = activations(graph, lowered)
    if uses is None:
        return 0
    if not real:
        return peak_of(uses).bytes
    weighted = {record.node.index for record in lowered.records if record.call and record.call.function in WEIGHTED}
    steps = [set(step.inputs) | set(step.outputs) for step in uses.steps if step.node in weighted]
    return max((sum(uses.sizes[buffer] for buffer in step) for step in steps), default=0)


def _runs(record: LoweredLayer) -> bool:
    """Tell whether firmware has a form for each layer, so that the model runs as a whole.

    ONNX Runtime takes a BatchNormalization into a convolution, but not into a transposed one.
    """
    if record.verdict not in (Outcome.CMSIS_NN, Outcome.REFERENCE):
        return False
    function = record.call.function if record.call else ""
    fused = record.epilogue.fused if record.epilogue else ()
    left = function is Function.TRANSPOSE_CONV and not all(node.is_op(*CLAMPS) for node in fused)
    return not left and (not function or function in BUILDS)
