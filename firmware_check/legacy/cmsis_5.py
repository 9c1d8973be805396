"""Opens a checkout of CMSIS 5; its CMSIS-NN lies in CMSIS/NN."""

from __future__ import annotations

import re
from pathlib import Path

from firmware_check.errors import FirmwareError
from firmware_check.library import Library, open_library

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
