"""Addition, multiplication and softmax: how often their loops run.

Sources: BasicMathFunctions/arm_elementwise_add_s8.c and arm_elementwise_mul_s8.c, SoftmaxFunctions/arm_softmax_s8.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes
from onnxlint_cmsis.types import Isa


def add_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s8 over the whole tensor."""
    return _flat("add", sizes, isa)


def mul_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_mul_s8 over the whole tensor."""
    return _flat("mul", sizes, isa)


def _flat(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.SCALAR:
        return {name: 1, f"{name}.element": length}
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    return {name: 1, f"{name}.four": length // 4, f"{name}.single": length % 4, f"{name}.single.enter": length % 4 > 0}


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
