"""A checkout of CMSIS 5, whose CMSIS-NN lies in CMSIS/NN."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.library import Library, open_library

if TYPE_CHECKING:
    from firmware_check.program import Elements


_HEADER = Path("Include") / "arm_nnfunctions.h"
_MARKS = (
    ("cmsis5-5.9.0", r"\barm_convolve_wrapper_s16\b"),
    ("cmsis5-5.8.0", r"\barm_convolve_wrapper_s8\b"),
    ("cmsis5-5.7.0", r"\barm_convolve_s8\b"),
    ("cmsis5-5.6.0", r"\barm_convolve_HWC_q7_fast\b"),
)
"""Newest first: a release, and the text that headers have from this release on."""
_TYPE = r"\barm_cmsis_nn_status\b"
"""Text in headers of 4.0.0 and later, and in none of CMSIS 5."""


def open_cmsis_5(folder: str) -> Library:
    """CMSIS-NN in a checkout of CMSIS 5, or in its folder CMSIS/NN.

    Raises:
        FirmwareError: the folder has no CMSIS-NN of CMSIS 5.

    """
    root = cmsis_5_folder(folder)
    if root is None:
        raise FirmwareError(f"{folder}: no CMSIS 5 there; a checkout with CMSIS/NN of 5.6.0 to 5.9.0 is expected")
    text = (root / _HEADER).read_text(encoding="utf-8", errors="replace")
    release = next(name for name, mark in _MARKS if re.search(mark, text))
    includes = (root / "Include", *(root.parent / name / "Include" for name in ("DSP", "Core")))
    return Library(root, release, includes, folder)


def open_any(folder: str) -> Library:
    """CMSIS-NN of any reviewed release, from its checkout or from one of CMSIS 5.

    Raises:
        FirmwareError: the folder has neither.

    """
    return open_cmsis_5(folder) if folder and cmsis_5_folder(folder) else open_library(folder)


def cmsis_5_folder(folder: str) -> Path | None:
    """The folder with CMSIS 5's CMSIS-NN; None for any other folder."""
    for root in (Path(folder) / "CMSIS" / "NN", Path(folder)):
        header = root / _HEADER
        if header.is_file():
            text = header.read_text(encoding="utf-8", errors="replace")
            if not re.search(_TYPE, text) and any(re.search(mark, text) for _, mark in _MARKS):
                return root
    return None


# Weights of a fully connected layer as `_opt` functions read them: one pointer reads four rows, which are interleaved.
# Left-over rows and columns keep their order (5.9.0: arm_fully_connected_q7_opt.c:30-126, _q15_opt.c:57-94,
# _mat_q7_vec_q15_opt.c:57-114).


ROWS = 4
"""Rows of a block."""
PAIRS = ((0, 1), (2, 3))
BLOCKS = {
    # Each pair is a row of the block and a column of the step, in the order in which they are read.
    "q7": tuple((row, column) for half in (0, 1) for pair in PAIRS for column in (half, half + 2) for row in pair),
    "q7q15": tuple((row, column) for pair in PAIRS for column in (0, 1) for row in pair),
    "q15": tuple((row, column) for row in range(ROWS) for column in (0, 1)),
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
            parts.append(np.array([four[row, column + offset] for row, offset in block], weights.dtype))
        parts.append(four[:, whole:].T.reshape(-1))
    parts.append(weights[rows // ROWS * ROWS :].reshape(-1))
    return np.concatenate(parts)
