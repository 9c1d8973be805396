"""What is said of a layer: the prediction, what was observed, and what is not as it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from firmware_check.instructions import Instructions
    from firmware_check.layer_trace import Observed
    from onnxlint_cmsis.cmsis_nn.library import Route


RULES = {
    "FWC001": "dispatch-not-as-predicted",
    "FWC002": "output-not-as-onnx-runtime",
    "FWC003": "memory-overrun",
    "FWC004": "instructions-not-as-predicted",
    "FWC005": "output-changed",
    "FWC006": "not-better",
}
"""Code of each kind of disagreement to its name."""


@dataclass(frozen=True)
class Disagreement:
    """One thing that is not as predicted or not right."""

    code: str
    """Code, one of RULES."""
    text: str
    """Found and expected value."""


@dataclass(frozen=True)
class Differences:
    """A layer's output against that of the host for the same inputs."""

    count: int
    """Elements that differ."""
    largest: float
    """Largest difference, in units of the output's scale; a number itself where the output is float."""
    total: int
    """Elements compared."""
    runtime: str = "ONNX Runtime"
    """What made the values that they are held against."""
    strain: float | None = None
    """Largest difference as a part of what rounding allows there, 1 for all of it; None where nothing is said."""

    @property
    def share(self) -> float:
        """Part of the elements that differ."""
        return self.count / self.total if self.total else 0.0


@dataclass(frozen=True)
class ComparedOutputs:
    """A layer's output against what others make of the same inputs."""

    runtime: Differences | None
    """Against ONNX Runtime or LiteRT; None where it does not run the layer."""
    arithmetic: Differences | None = None
    """Against the function's arithmetic in plain integers, bit for bit, or that of a float layer in double precision;
    None where that is not written down."""
    remarks: tuple[str, ...] = ()
    """What was not compared, and why."""
    uneven: bool = False
    """Whether the untraced build gives other outputs of the same inputs."""


@dataclass(frozen=True)
class LayerVerdict:
    """One layer: the prediction, the run, and whether they agree."""

    label: str
    """ONNX node."""
    tensor: str
    """ONNX tensor that it makes."""
    op_type: str
    """Operator."""
    function: str
    """C function of CMSIS-NN called; empty for reference code."""
    reason: str
    """Why reference code computes it, else empty."""
    predicted: Route | None
    """onnxlint_cmsis's prediction; None where no CMSIS-NN call is made."""
    observed: Observed
    """What ran, from the traced build."""
    status: int
    """Status the call returned."""
    scratch: tuple[int, int]
    """Bytes that the size functions answered."""
    instructions: Instructions
    """Instructions in the untraced build, predicted and counted, not cycles."""
    differences: Differences | None
    """Against ONNX Runtime; None where it does not run the layer."""
    disagreements: tuple[Disagreement, ...]
    """Everything that is not as predicted, or not right for no known reason."""
    defects: tuple[Disagreement, ...] = ()
    """What is not right and was predicted: the code is that of the linter's rule."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of the run."""
    arithmetic: Differences | None = None
    """Against the function's arithmetic in plain integers or double precision; None where that is not written down."""
    written: int = 0
    """Bytes of its scratch buffer up to the last one that changed."""


def compare(ours: np.ndarray, expected: np.ndarray, runtime: str = "ONNX Runtime") -> Differences:
    """Count the elements that differ."""
    gap = np.abs(ours.astype(np.int64) - expected.astype(np.int64))
    return Differences(int(np.count_nonzero(gap)), int(gap.max(initial=0)), gap.size, runtime)


def compare_floats(
    ours: np.ndarray, expected: np.ndarray, allowed: np.ndarray | None, runtime: str = "ONNX Runtime"
) -> Differences:
    """Largest difference, and how much of what rounding allows it takes; what is no number on one side is infinite."""
    with np.errstate(all="ignore"):
        gap = np.abs(ours.astype(np.float64) - expected)
        gap = np.where((ours == expected) | (np.isnan(ours) & np.isnan(expected)), 0.0, gap)
        gap = np.where(np.isnan(gap), np.inf, gap)
        strain = None if allowed is None else np.where(gap > 0, gap / allowed, 0.0)
    most = None if strain is None else float(strain.max(initial=0))
    return Differences(int(np.count_nonzero(gap)), float(gap.max(initial=0)), gap.size, runtime, most)
