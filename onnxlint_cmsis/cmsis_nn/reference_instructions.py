"""The least and the most instructions of reference code.

Who writes the application decides how good the code is, so there is no one number. The most is that of the code in
which the firmware check computes a layer (its runtime/reference.c), in the worst of -O2, -O3 and -Os. The least is
that of the library's own C where it has a function that does the same work, else the best of the three. Measured with
gcc 12.2 under QEMU on Cortex-M0, M3, M4, M23 and M55: tests/data/cost_plain.jsonl.gz.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from onnxlint_cmsis.cmsis_nn.cost_records import COMPILER, integer_build
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target


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
    "cortex-m0": CopyCost(5, 0.5, 300, 27, 25.6),
    "cortex-m23": CopyCost(5, 0.5, 300, 27, 25.6),
    "scalar": CopyCost(5, 0.5, 300, 23, 15),
    "dsp": CopyCost(5, 0.5, 300, 24, 15),
    "mve": CopyCost(3.9, 0.15, 313, 24.1, 15.1),
}
"""A copy by its build; no cost is known on another."""

ELEMENTS = {
    "lookup": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(6, 7.1)),
        **dict.fromkeys(("scalar", "dsp"), PerElement(5, 7.1)),
        "mve": PerElement(3.9, 7.2),
    },
    "requantize": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(109, 134.1)),
        **dict.fromkeys(("scalar", "dsp"), PerElement(45, 62.1)),
        "mve": PerElement(37, 52.2),
    },
    "elementwise_add": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(232, 637)),
        "scalar": PerElement(83, 345),
        "dsp": PerElement(78, 345),
        "mve": PerElement(13.2, 67),
    },
    "elementwise_mul": {
        **dict.fromkeys(("cortex-m0", "cortex-m23"), PerElement(88, 138.1)),
        "scalar": PerElement(29, 66),
        "dsp": PerElement(34, 66),
        "mve": PerElement(6.2, 56),
    },
}
"""Kind of reference code to its cost by build. The least of sums and products is that of arm_elementwise_add_s8 and
_mul_s8."""

CALL = 60
"""Instructions around a loop over elements, at most."""
JOINED = "concatenation"
"""Reference code that changes the scale of each element, as `requantize` does."""
MOVING = ("move", "transpose", "pad")
"""Reference code that copies elements."""


def copy_range(target: Target, places: Sequence[tuple[int, int]], width: int = 1) -> tuple[int, int] | None:
    """Least and most instructions of a copy; `width` are the bytes of an element.

    `places` has for each loop from the outermost how often it runs, and how many elements it goes on in the source.
    None for a compiler and a CPU that nothing was measured with.
    """
    cost, elements = COPIES.get(integer_build(target).name), prod(size for size, _ in places)
    if target.compiler != COMPILER or cost is None:
        return None
    loops = [*(size for size, _ in places), *([width] if width > 1 else [])]
    carries = sum(prod(loops[:axis]) for axis in range(1, len(loops)))
    inner = next((step for size, step in reversed(places) if size > 1), 1)
    least = elements * cost.line if inner == 1 else elements * cost.least
    return int(least), ceil(cost.call + elements * width * cost.element + carries * cost.carry)


def reference_range(
    target: Target, code: str, sizes: tuple[int, ...], width: int = 1, *, repeats: bool = False
) -> tuple[int, int] | None:
    """Least and most instructions of a kind of reference code that writes a tensor of these sizes.

    `repeats`: an operand has fewer elements, of which simple code first makes a tensor of these sizes. None for
    kinds and CPUs that were not measured, and for another compiler than gcc.
    """
    build = integer_build(target).name
    cost, elements = COPIES.get(build), prod(sizes)
    if target.compiler != COMPILER or cost is None:
        return None
    ending = 2 + sizes[1:].count(1)  # loops that end with an element, at most: a loop of size 1 does with each
    copied = cost.call + elements * width * (cost.element + ending * cost.carry)
    if code in MOVING:
        return int(elements * cost.line), ceil(copied)
    row = ELEMENTS.get("requantize" if code == JOINED else code)
    if row is None or width > 1:
        return None
    calls = elements if code == JOINED else 1  # a run of a joined tensor may be one element long
    most = calls * CALL + elements * row[build].most + (copied if repeats else 0)
    return int(elements * row[build].least), ceil(most)
