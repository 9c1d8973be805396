"""Fully connected layers: the function for interleaved weights, `_opt`, or the one for weights as they are.

A converter interleaves the weights once. Fewer than four rows are not interleaved: `_opt` then takes one at a time, and
the other function two.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, at_least
from onnxlint_cmsis.cmsis_nn.legacy_builds import Lines
from onnxlint_cmsis.cmsis_nn.names import OUT_C
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION
from onnxlint_cmsis.cmsis_nn.rows import ScratchSize, Wrapper

_FOLDER = "FullyConnectedFunctions"
ROWS = 4
"""Rows that are interleaved."""


def dense(entry: str, function: str, lines: tuple[Lines, Lines], sizes: tuple[ScratchSize, ...]) -> Wrapper:
    """The choice of one data type, with the lines of `_opt` and of the other function."""
    opt = f"{function}_opt"
    return Wrapper(
        entry=entry,
        function=function,
        branches=(
            *unchecked(opt, at_least(OUT_C, ROWS), lines[0], f"{_FOLDER}/{opt}.c"),
            *unchecked(function, TRUE, lines[1], f"{_FOLDER}/{function}.c"),
        ),
        sizes=sizes,
        absent=ABSENT,
        limits=(NO_DILATION,),
    )
