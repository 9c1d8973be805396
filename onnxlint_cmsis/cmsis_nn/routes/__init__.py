"""One file per wrapper: its branches in the order of the C source, with the line of each in every release."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from onnxlint_cmsis.cmsis_nn.rows import Wrapper

ENTRIES = (
    "convolve_s8",
    "convolve_s16",
    "convolve_s4",
    "depthwise_s8",
    "depthwise_s16",
    "depthwise_s4",
    "transpose_conv_s8",
    "fully_connected_s8",
)
"""Entry points that choose between kernels."""

LEGACY_ENTRIES = (
    "convolve_q7",
    "convolve_q15",
    "depthwise_q7",
    "fully_connected_q7",
    "fully_connected_q15",
    "fully_connected_q7q15",
    "max_pool_q7",
    "avgpool_q7",
)
"""Choices that an application makes between the functions for q7 and q15 of CMSIS 5."""


@cache
def wrapper_for(entry: str) -> Wrapper | None:
    """The wrapper of an entry point, or the choice in its place; None for an entry point without branches."""
    if entry in LEGACY_ENTRIES:
        return cast(Wrapper, import_module(f"{__name__}.legacy.{entry}").WRAPPER)
    if entry not in ENTRIES:
        return None
    return cast(Wrapper, import_module(f"{__name__}.{entry}").WRAPPER)
