"""The checks that look at a layer on a target, in code order; an explicit table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from onnxlint_cmsis.checks import (
    conv_1x1,
    conv_1x1_fast,
    conv_1xn,
    conv_s4_even,
    conv_s16_fast,
    depthwise_3x3,
    depthwise_multiplier_tile,
    depthwise_opt,
    depthwise_s16_fast,
    depthwise_to_conv,
    fully_connected_per_channel,
    no_entry_point,
    overrun,
    returns_error,
    too_large,
    transpose_conv_reversed,
    wrong_result,
)
from onnxlint_cmsis.checks.subject import Subject
from onnxlint_cmsis.types import Finding


class Check(Protocol):
    """Anything that looks at one layer on one target."""

    @property
    def code(self) -> str:
        """Code of the rule."""
        ...

    def run(self, subject: Subject) -> Iterator[Finding]:
        """Yield the findings."""
        ...


CHECKS: tuple[Check, ...] = (
    conv_1x1.CHECK,
    conv_1x1_fast.CHECK,
    conv_1xn.CHECK,
    conv_s16_fast.CHECK,
    conv_s4_even.CHECK,
    depthwise_3x3.CHECK,
    depthwise_opt.CHECK,
    depthwise_multiplier_tile.CHECK,
    depthwise_to_conv.CHECK,
    depthwise_s16_fast.CHECK,
    transpose_conv_reversed.CHECK,
    fully_connected_per_channel.CHECK,
    no_entry_point.CHECK,
    returns_error.CHECK,
    wrong_result.CHECK,
    overrun.CHECK,
    too_large.CHECK,
)
