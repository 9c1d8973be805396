"""Limits of the functions for q7 and q15 with one argument for both axes: a condition and its words."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition, equal
from onnxlint_cmsis.cmsis_nn.names import (
    FILTER_H,
    FILTER_W,
    IN_H,
    IN_W,
    OUT_H,
    OUT_W,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
    UNIT_DILATION,
)
from onnxlint_cmsis.cmsis_nn.rows import Limit

NO_DILATION = Limit(
    UNIT_DILATION, "its dilation is {dilation.h}x{dilation.w}; the functions for q7 and q15 have no argument for it"
)
"""The limit of every function."""


def one_for_both(function: str) -> tuple[Limit, ...]:
    """The limits of a function with one argument for both axes, in the order of `SQUARE`."""

    def limit(when: Condition, have: str, takes: str) -> Limit:
        return Limit(when, f"its {have}; {function} takes one {takes} for both axes")

    return (
        limit(equal(IN_W, IN_H), "input is {input_dims.h}x{input_dims.w}", "size"),
        limit(equal(OUT_W, OUT_H), "output is {output_dims.h}x{output_dims.w}", "size"),
        limit(equal(FILTER_W, FILTER_H), "filter is {filter_dims.h}x{filter_dims.w}", "size"),
        limit(equal(PAD_W, PAD_H), "padding is {padding.h}x{padding.w}", "padding"),
        limit(equal(STRIDE_W, STRIDE_H), "stride is {stride.h}x{stride.w}", "stride"),
    )
