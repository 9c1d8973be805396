"""The release has no kernel for a layer.

The chosen CMSIS-NN release has no entry point for the operator with these data types, or the operator has a
form that CMSIS-NN cannot express (three spatial dimensions, a grouped transpose convolution). The runtime has
to bring a kernel of its own: usually a plain reference loop, sometimes none. Where no release has one, this is told
once for each operator and reason.

**What to do.** Use a release that has the kernel (the message names the first), or another form of the
operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks import fully_connected_per_channel
from onnxlint_cmsis.checks.subject import Subject
from onnxlint_cmsis.types import Finding, Level


class NoEntryPoint:
    """An entry point that the release does not have."""

    code = "CNN190"
    name = "no-entry-point"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for a layer whose entry point the release lacks."""
        if subject.route.reason and not fully_connected_per_channel.concerns(subject):
            finding = subject.finding(self.code, self.name, Level.NOTE, f"no kernel: {subject.route.reason}.")
            yield replace(finding, sources=subject.entry_sources())


CHECK = NoEntryPoint()
