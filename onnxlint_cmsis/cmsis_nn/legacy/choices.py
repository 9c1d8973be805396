"""What the choices between functions for q7 and q15 share: short ways to write a branch and a limit."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, OUT, PAD, STRIDE, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.legacy.builds import SQUARE, Lines, definition, legacy_builds
from onnxlint_cmsis.cmsis_nn.rows import Branch, Limit, OuterTest

CONV = "ConvolutionFunctions"
ABSENT = "the functions for q7 and q15 are in cmsis5-5.6.0 to cmsis5-5.9.0"
"""Reason in other releases."""
OURS = (OuterTest(SQUARE, {}), OuterTest(UNIT_DILATION, {}))
"""Tests that no function makes, since it has no argument for other shapes."""


def checked(
    function: str, when: Condition, dsp: Lines, plain: Lines, dsp_alone: Condition | None = None
) -> tuple[Branch, ...]:
    """A function with a check in each body. `dsp_alone`: a further condition of the code for DSP of 5.9.0."""
    builds = legacy_builds(f"{CONV}/{function}.c", function, dsp, plain)
    asked = {build.name: all_of(when, UNIT_DILATION) for build in builds}
    if dsp_alone is not None:
        asked["dsp"] = all_of(when, dsp_alone, UNIT_DILATION)
    return tuple(Branch(function, asked[build.name], build.origin, tests=OURS) for build in builds)


def unchecked(function: str, when: Condition, lines: Lines, path: str = "") -> tuple[Branch, ...]:
    """A function without a check, cited by its definition. `path`: its file, if it has another name."""
    origin = definition(path or f"{CONV}/{function}.c", function, lines)
    return (Branch(function, all_of(when, UNIT_DILATION), origin, tests=(*OURS, OuterTest(when, {}))),)


NO_DILATION = Limit(
    UNIT_DILATION, "its dilation is {dilation.h}x{dilation.w}; the functions for q7 and q15 have no argument for it"
)
"""The limit of every function."""


def one_for_both(function: str) -> tuple[Limit, ...]:
    """The limits of a function with one argument for both axes, in the order of `SQUARE`."""

    def limit(when: Condition, have: str, takes: str) -> Limit:
        return Limit(when, f"its {have}; {function} takes one {takes} for both axes")

    return (
        limit(equal(IN.w, IN.h), "input is {input_dims.h}x{input_dims.w}", "size"),
        limit(equal(OUT.w, OUT.h), "output is {output_dims.h}x{output_dims.w}", "size"),
        limit(equal(FILTER.w, FILTER.h), "filter is {filter_dims.h}x{filter_dims.w}", "size"),
        limit(equal(PAD.w, PAD.h), "padding is {padding.h}x{padding.w}", "padding"),
        limit(equal(STRIDE.w, STRIDE.h), "stride is {stride.h}x{stride.w}", "stride"),
    )
