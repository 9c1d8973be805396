"""What the choices share: a short way to write a branch."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of
from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE, Lines, definition, legacy_builds
from onnxlint_cmsis.cmsis_nn.names import UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.rows import Branch, OuterTest

CONV = "ConvolutionFunctions"
ABSENT = "the functions for q7 and q15 are in cmsis5-5.6.0 to cmsis5-5.9.0"
"""Reason in other releases."""
OURS = (OuterTest(SQUARE, {}), OuterTest(UNIT_DILATION, {}))
"""Tests that no function makes, since it has no argument for other shapes."""


def checked(
    function: str, when: Condition, dsp: Lines, plain: Lines, dsp_alone: Condition | None = None
) -> tuple[Branch, ...]:
    """A function with a check in each body. `dsp_alone`: a further condition of the code for DSP of 5.9.0."""
    rows = legacy_builds(f"{CONV}/{function}.c", function, dsp, plain)
    asked = {each.name: all_of(when, UNIT_DILATION) for each in rows}
    if dsp_alone is not None:
        asked["dsp"] = all_of(when, dsp_alone, UNIT_DILATION)
    return tuple(Branch(function, asked[each.name], each.origin, tests=OURS) for each in rows)


def unchecked(function: str, when: Condition, lines: Lines, path: str = "") -> tuple[Branch, ...]:
    """A function without a check, cited by its definition. `path`: its file, if it has another name."""
    origin = definition(path or f"{CONV}/{function}.c", function, lines)
    return (Branch(function, all_of(when, UNIT_DILATION), origin, tests=(*OURS, OuterTest(when, {}))),)
