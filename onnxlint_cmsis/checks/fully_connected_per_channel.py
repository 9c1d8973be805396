"""Per-channel fully connected weights have no kernel in the release.

`arm_fully_connected_per_channel_s8` exists from 7.0.0 on. Earlier releases have only `arm_fully_connected_s8`,
which takes one multiplier and shift for all outputs, so a layer with a scale per output channel cannot run in
it.

**What to do.** Use 7.0.0 or later, or quantize the layer's weights per tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.subject import Subject
from onnxlint_cmsis.types import Finding, Level


class PerChannelCheck:
    """Per-channel weights on a release whose only kernel is per tensor."""

    code = "CNN131"
    name = "fully-connected-per-channel"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for a per-channel layer that would run a per-tensor kernel."""
        if concerns(subject):
            scales = subject.layer.call.output_dims.c
            text = f"its weights have {scales} scales: {subject.route.reason}."
            yield replace(subject.finding(self.code, self.name, Level.NOTE, text), sources=subject.entry_sources())


def concerns(subject: Subject) -> bool:
    """Tell whether per-channel weights are why a fully connected layer has no kernel."""
    call, reason = subject.layer.call, subject.route.reason
    return call.entry == "fully_connected_s8" and bool(call.per_channel) and bool(reason)


CHECK = PerChannelCheck()
