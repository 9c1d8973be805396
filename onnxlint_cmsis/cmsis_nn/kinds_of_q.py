"""Facts on the functions for q7 and q15 of CMSIS 5: data types, the last release, and builds with code for DSP."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import V5_9
from onnxlint_cmsis.types import Isa, Target

KINDS = ("q7", "q15", "q7q15")
"""Suffixes of entry points: 8 bits, 16 bits, and 8-bit weights with 16-bit activations."""
LEFT = "4.0.0"
"""First release without these functions."""


def is_legacy(entry: str) -> bool:
    """Whether an entry point is one for q7 or q15."""
    return "_q7" in entry or "_q15" in entry


def runs_dsp_body(target: Target) -> bool:
    """Whether a build runs the code for DSP. With MVE it does so before 5.9.0, whose guard is "DSP and not MVEI"."""
    return target.isa is Isa.DSP or (target.isa is Isa.MVE and target.release != V5_9)
