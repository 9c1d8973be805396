"""CMSIS 5's NN library: its sources, the order of its weights, and its arithmetic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firmware_check.errors import FirmwareError
from firmware_check.evidence.exact_arithmetic import CallNumbers, summed, windows
from firmware_check.library import Library, open_library

if TYPE_CHECKING:
    from firmware_check.program import Elements
    from onnxlint_cmsis.ground.types import KernelCall


# Opens a checkout of CMSIS 5; its CMSIS-NN lies in CMSIS/NN.


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


# The functions for q7 and q15 in NumPy: sums of products, shifted and saturated.


class QNumbers(NamedTuple):
    """The numbers of one call."""

    source: Elements
    """Input, NHWC."""
    weights: Elements
    """OHWI, 1HWO or [out_c, depth]; empty for layers without weights."""
    bias: Elements
    """A bias for each output channel."""
    bias_shift: int
    """Bits that the bias is shifted to the left."""
    out_shift: int
    """Bits that the sum is shifted to the right."""
    bits: int
    """Bits of input and output."""


def q_computed(call: KernelCall, numbers: QNumbers, dsp: bool) -> Elements:
    """The output of a call: integers, NHWC. With `dsp` average pooling divides twice, for columns and for rows."""
    stem = call.entry.rpartition("_")[0]
    if stem == "relu":
        return np.asarray(np.maximum(numbers.source, 0))
    if stem == "max_pool":
        low = -(1 << (numbers.bits - 1))
        return np.asarray(windows(call, numbers.source.astype(np.int64), low).max(axis=(3, 4)))
    if stem == "avgpool":
        data = numbers.source.astype(np.int64)
        ones = windows(call, np.ones_like(data), 0)
        seen = windows(call, data, 0)
        if not dsp:
            return _divided(seen.sum(axis=(3, 4)), ones.sum(axis=(3, 4)))
        rows = _divided(seen.sum(axis=4), np.maximum(ones.sum(axis=4), 1))
        return _divided(rows.sum(axis=3), ones.max(axis=4).sum(axis=3))
    operands = CallNumbers(numbers.source, numbers.weights, None, (), 0, 0, numbers.bits)
    sums = summed(stem_of_sums(stem), call, operands)
    half = (1 << numbers.out_shift) >> 1
    result = (sums + (numbers.bias.astype(np.int64) << numbers.bias_shift) + half) >> numbers.out_shift
    return np.asarray(np.clip(result, -(1 << (numbers.bits - 1)), (1 << (numbers.bits - 1)) - 1))


def stem_of_sums(stem: str) -> str:
    """Stem of the layer that a function called by name computes."""
    if stem.startswith("depthwise"):
        return "depthwise"
    return "fully_connected" if stem.startswith("fully_connected") else "convolve"


def _divided(sums: Elements, counts: Elements) -> Elements:
    """Division as in C."""
    return np.asarray(np.sign(sums) * (np.abs(sums) // np.maximum(counts, 1)))
