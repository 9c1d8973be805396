"""The order in which `_opt` functions read the weights of a fully connected layer.

Four rows are interleaved: one pointer reads them. Left-over rows and columns keep their order
(5.9.0: arm_fully_connected_q7_opt.c:30-126, _q15_opt.c:57-94, _mat_q7_vec_q15_opt.c:57-114).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from firmware_check.program import Elements

ROWS = 4
"""Rows of a block."""
PAIRS = ((0, 1), (2, 3))
BLOCKS = {
    # Each pair is a row of the block and a column of the step, in the order in which they are read.
    "q7": tuple((row, place) for half in (0, 1) for pair in PAIRS for place in (half, half + 2) for row in pair),
    "q7q15": tuple((row, place) for pair in PAIRS for place in (0, 1) for row in pair),
    "q15": tuple((row, place) for row in range(ROWS) for place in (0, 1)),
}
"""Data type to the elements of one step of four rows. A step has four columns for q7, else two."""


def interleaved(weights: Elements, kind: str) -> Elements:
    """Flat weights in the order of the `_opt` function for `q7`, `q15` or `q7q15`; `weights` is [out_c, depth]."""
    block = BLOCKS[kind]
    step = len(block) // ROWS
    rows, depth = weights.shape
    whole = depth // step * step
    parts: list[Elements] = []
    for first in range(0, rows // ROWS * ROWS, ROWS):
        four = weights[first : first + ROWS]
        for column in range(0, whole, step):
            parts.append(np.array([four[row, column + place] for row, place in block], weights.dtype))
        parts.append(four[:, whole:].T.reshape(-1))
    parts.append(weights[rows // ROWS * ROWS :].reshape(-1))
    return np.concatenate(parts)
