"""Loops of softmax (SoftmaxFunctions/arm_softmax_s8.c)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes
from onnxlint_cmsis.ground.types import Isa


def softmax_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_softmax_s8: maximum, sum of exponentials and division over each row."""
    rows, length = sizes.n, sizes.in_c
    counts = {"softmax": 1, "softmax.row": rows}
    if isa is not Isa.MVE:
        return counts | {"softmax.element": rows * length}
    tail = length % 4
    return counts | {
        "softmax.sixteen": rows * up(length, 16),
        "softmax.four": rows * (length // 4),
        "softmax.tail": rows * tail,
        "softmax.tail.enter": rows * (tail > 0),
    }
