"""Models whose weights alone no board holds: said at once, before anything is quantized or compiled."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import onnx

from firmware_check.errors import FirmwareError
from firmware_check.reading.table import OPERATORS
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.lower.stored_types import MOVES

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from onnxlint_cmsis.operators.record import Operator

_HALF = (onnx.TensorProto.INT4, onnx.TensorProto.UINT4)
"""Types of which two elements lie in a byte."""
_SMALL = 4096
"""Elements up to which a constant may be a bias, a scale or a shape, and is not counted."""


def refuse_too_large(path: str, boards: Sequence[Board], per_layer: bool) -> None:
    """FirmwareError where the weights, int8 or narrower on the device, are more than any of the boards holds.

    With `per_layer` nothing is refused: layers that fit run. A file that is no model is left to who opens it.
    """
    needed = 0 if per_layer else sum(_weights(path))
    largest = max(boards, key=lambda board: board.flash.size)
    if needed > largest.flash.size:
        raise FirmwareError(
            f"{path}: the model does not fit the board: its weights take {needed:,} bytes; {largest.cpu}'s board has"
            f" {largest.flash.size:,} of flash; --per-layer needs less"
        )


def _weights(path: str) -> list[int]:
    """Bytes of each large constant, as int8, or less where the file has less; none where layers run apart anyway."""
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:
        return []
    operators = [operator_of_proto(node) for node in model.graph.node]
    if not all(_runs(operator) for operator in operators):
        return []
    found = []
    for tensor in model.graph.initializer:
        elements = prod(tensor.dims)
        if elements > _SMALL:
            found.append(-(-elements // 2) if tensor.data_type in _HALF else elements)
    return found


def _runs(operator: Operator) -> bool:
    """Whether firmware has a form for an operator, so that the model may run as a whole."""
    named = (operator.domain, operator.name) in OPERATORS
    return named or operator.elements in MOVES or operator.quantizes or operator.dequantizes
