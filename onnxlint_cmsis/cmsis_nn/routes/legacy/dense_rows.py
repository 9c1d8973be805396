"""Fully connected layers: the function for interleaved weights, `_opt`, or the one for weights as they are.

A converter interleaves the weights once, so that nothing speaks against `_opt` but a vector that is shorter than one
turn of its loop: the code for DSP tests its counter behind the first turn.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, at_least
from onnxlint_cmsis.cmsis_nn.legacy_builds import Lines
from onnxlint_cmsis.cmsis_nn.names import FILTER_N
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, unchecked
from onnxlint_cmsis.cmsis_nn.rows import ScratchSize, Wrapper

_FOLDER = "FullyConnectedFunctions"


def dense(entry: str, function: str, step: int, lines: tuple[Lines, Lines], sizes: tuple[ScratchSize, ...]) -> Wrapper:
    """The choice of one data type; `step` is how many elements of the vector a turn of `_opt` takes."""
    opt = f"{function}_opt"
    return Wrapper(
        entry=entry,
        function=function,
        branches=(
            *unchecked(opt, at_least(FILTER_N, step), lines[0], f"{_FOLDER}/{opt}.c"),
            *unchecked(function, TRUE, lines[1], f"{_FOLDER}/{function}.c"),
        ),
        sizes=sizes,
        absent=ABSENT,
    )
