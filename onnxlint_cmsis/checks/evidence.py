"""The row of the table of measured pairs."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class Evidence(NamedTuple):
    """What was measured for one check and entry point on one release and instruction set."""

    rule: str
    """Kebab name of the rule."""
    entry: str
    """Entry point measured, `convolve_s8`."""
    release: str
    """CMSIS-NN release."""
    isa: str
    """Instruction set."""
    inside: bool
    """Pairs inside the check's region, or outside it."""
    pairs: int
    """Pairs measured."""
    faster: int
    """Pairs with fewer instructions after."""
    median: float
    """Median change in percent; negative is fewer instructions."""
    worst: float
    """Largest change in percent."""
