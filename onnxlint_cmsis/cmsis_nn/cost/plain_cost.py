"""Plain C beside CMSIS-NN: the least and the most instructions that it takes.

Who writes the application decides how good the code is, so there is no one number. The most is that of the code in
which the firmware check computes a layer (its runtime/reference.c), in the worst of -O2, -O3 and -Os. The least is that
of the library's own C where it has a function that does the same work, else the best of the three. Measured with gcc
12.2 under QEMU on Cortex-M3, M4 and M55: tests/data/cost_plain.jsonl.gz.
"""

from __future__ import annotations

from math import ceil, prod

from onnxlint_cmsis.cmsis_nn.cost.measured import COMPILER
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Isa, Target


class PerElement(NamedTuple):
    """Instructions for each element."""

    least: float
    """Good code."""
    most: float
    """Simple code."""


class CopyCost(NamedTuple):
    """Instructions of a copy along several axes."""

    least: float
    """Of an element, good code: arm_transpose_s8 of 7.0.0."""
    line: float
    """Of an element whose neighbours stay its neighbours, good code."""
    call: float
    """Of a call, simple code."""
    element: float
    """Of an element, simple code."""
    carry: float
    """Of an inner loop that ended, simple code."""


COPIES = {
    Isa.SCALAR: CopyCost(5, 0.5, 300, 23, 15),
    Isa.DSP: CopyCost(5, 0.5, 300, 24, 15),
    Isa.MVE: CopyCost(5, 0.2, 400, 30.8, 19.3),
}
"""A copy by its instruction set."""

ELEMENTS = {
    "lookup": {Isa.SCALAR: PerElement(5, 7.1), Isa.DSP: PerElement(5, 7.1), Isa.MVE: PerElement(5, 9.1)},
    "requantize": {Isa.SCALAR: PerElement(46, 62.1), Isa.DSP: PerElement(46, 62.1), Isa.MVE: PerElement(48, 66.7)},
    "elementwise_add": {Isa.SCALAR: PerElement(83, 345), Isa.DSP: PerElement(78, 345), Isa.MVE: PerElement(17, 85)},
    "elementwise_mul": {Isa.SCALAR: PerElement(29, 66), Isa.DSP: PerElement(34, 66), Isa.MVE: PerElement(8, 71)},
}
"""Kind of plain code to its cost. The least of sums and products is that of arm_elementwise_add_s8 and _mul_s8."""
CALL = 60
"""Instructions around a loop over elements, at most."""
JOINED = "concatenation"
"""Plain code that changes the scale of each element, as `requantize` does."""
MOVING = ("move", "transpose", "pad")
"""Plain code that copies elements."""


def copy_range(target: Target, places: list[tuple[int, int]], width: int = 1) -> tuple[int, int] | None:
    """Least and most instructions of a copy; `width` are the bytes of an element.

    `places` has for each loop from the outermost how often it runs, and how many elements it goes on in the source.
    None for a compiler that nothing was measured with.
    """
    if target.compiler != COMPILER:
        return None
    cost, elements = COPIES[target.isa], prod(size for size, _ in places)
    loops = [*(size for size, _ in places), *([width] if width > 1 else [])]
    carries = sum(prod(loops[:place]) for place in range(1, len(loops)))
    inner = next((step for size, step in reversed(places) if size > 1), 1)
    least = elements * cost.line if inner == 1 else elements * cost.least
    return int(least), ceil(cost.call + elements * width * cost.element + carries * cost.carry)


def plain_range(
    target: Target, code: str, sizes: tuple[int, ...], width: int = 1, *, repeats: bool = False
) -> tuple[int, int] | None:
    """Least and most instructions of a kind of plain code that writes a tensor of these sizes.

    `repeats`: an operand has fewer elements, of which simple code first makes a tensor of these sizes. None for
    kinds that were not measured, and for another compiler than gcc.
    """
    if target.compiler != COMPILER:
        return None
    cost, elements = COPIES[target.isa], prod(sizes)
    ending = 2 + sizes[1:].count(1)  # loops that end with an element, at most: a loop of size 1 does with each
    copied = cost.call + elements * width * (cost.element + ending * cost.carry)
    if code in MOVING:
        return int(elements * cost.line), ceil(copied)
    row = ELEMENTS.get("requantize" if code == JOINED else code)
    if row is None or width > 1:
        return None
    calls = elements if code == JOINED else 1  # a run of a joined tensor may be one element long
    most = calls * CALL + elements * row[target.isa].most + (copied if repeats else 0)
    return int(elements * row[target.isa].least), ceil(most)
