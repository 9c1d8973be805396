"""Every rule of the linter, one row each; a rule's documentation is the docstring of its module."""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.types import Level


class Rule(NamedTuple):
    """One rule."""

    code: str
    """Stable code."""
    name: str
    """Kebab name."""
    level: Level
    """Highest level it reports at; a finding may be milder."""
    summary: str
    """One sentence."""

    @property
    def module(self) -> str:
        """Module of this package whose docstring is the documentation."""
        return self.name.replace("-", "_")


RULES: tuple[Rule, ...] = (
    Rule("CNN001", "unreadable-file", Level.ERROR, "The file cannot be read."),
    Rule("CNN002", "not-onnx", Level.ERROR, "The file is not an ONNX model."),
    Rule("CNN003", "git-lfs-pointer", Level.ERROR, "The file is a Git LFS pointer, not the model."),
    Rule("CNN004", "invalid-model", Level.WARNING, "The model breaks a rule of ONNX."),
    Rule("CNN005", "undecided", Level.NOTE, "Symbolic sizes leave questions about layers open."),
    Rule("CNN006", "external-data", Level.ERROR, "External data is missing, short or outside the model's folder."),
    Rule("CNN007", "nested-too-deep", Level.ERROR, "Subgraphs are nested deeper than protobuf reads."),
    Rule("CNN008", "wrong-input-shape", Level.ERROR, "A given input shape does not fit the model."),
    Rule("CNN090", "unused-suppression", Level.NOTE, "A suppression matches no finding."),
    Rule("CNN091", "unused-baseline-entry", Level.NOTE, "A baseline entry matches no finding."),
    Rule("CNN101", "conv-1x1", Level.WARNING, "A 1x1 convolution misses the 1x1 kernels."),
    Rule("CNN102", "conv-1x1-fast", Level.WARNING, "A 1x1 convolution misses the fast 1x1 kernel."),
    Rule("CNN103", "conv-1xn", Level.WARNING, "A one-dimensional convolution misses the 1xN kernel."),
    Rule("CNN104", "conv-s16-fast", Level.WARNING, "An s16 convolution misses the fast s16 kernel."),
    Rule("CNN105", "conv-s4-even", Level.WARNING, "An s4 convolution misses the kernel for even column counts."),
    Rule("CNN111", "depthwise-3x3", Level.WARNING, "A 3x3 depthwise layer misses the 3x3 kernel."),
    Rule("CNN112", "depthwise-opt", Level.WARNING, "A depthwise layer misses the optimized kernel."),
    Rule("CNN113", "depthwise-multiplier-tile", Level.WARNING, "A depthwise multiplier misses the tile of four."),
    Rule("CNN114", "depthwise-to-conv", Level.WARNING, "A depthwise layer of one channel is not run as a convolution."),
    Rule("CNN115", "depthwise-s16-fast", Level.WARNING, "An s16 depthwise layer misses the fast s16 kernel."),
    Rule(
        "CNN121",
        "transpose-conv-reversed",
        Level.WARNING,
        "A transpose convolution misses the reversed-convolution route.",
    ),
    Rule(
        "CNN131",
        "fully-connected-per-channel",
        Level.NOTE,
        "Per-channel fully connected weights have no kernel in the release.",
    ),
    Rule("CNN190", "no-entry-point", Level.NOTE, "The release has no kernel for a layer."),
    Rule("CNN201", "more-channels", Level.WARNING, "The same kernel runs fewer instructions with more channels."),
    Rule("CNN202", "dead-channels", Level.WARNING, "Channels are constant or unread."),
    Rule("CNN301", "returns-error", Level.ERROR, "A kernel will return an error."),
    Rule("CNN302", "wrong-result", Level.ERROR, "A kernel will return wrong values with status SUCCESS."),
    Rule("CNN303", "overrun", Level.ERROR, "A kernel will read or write past a buffer."),
    Rule("CNN304", "too-large", Level.ERROR, "A dimension does not fit the kernel's variables."),
)
"""In code order."""


def rule(code: str) -> Rule:
    """Row of a code; KeyError for one that does not exist."""
    for row in RULES:
        if row.code == code:
            return row
    raise KeyError(code)
