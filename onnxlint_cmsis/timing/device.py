"""Where a model runs, and what its runtime takes beside the kernels."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.calibration import Calibration
from onnxlint_cmsis.timing.memories import UNKNOWN


class Device(NamedTuple):
    """Where a model runs."""

    cpu: str
    """CPU with its suffixes."""
    clock: int
    """Hertz."""
    weights: str = UNKNOWN
    """Memory of the weights."""
    arena: str = UNKNOWN
    """Memory of the activations."""
    runtime: str = ""
    """Runtime that calls the kernels."""
    calibration: Calibration | None = None
    """What was fitted to a measurement of this CPU; it goes before memories and runtime."""
    code_cache: int | None = None
    """Bytes of the cache before the flash that code runs from; None where nothing says it."""

    @property
    def knows_weights(self) -> bool:
        """Tell whether the cost of reading weights is known: from their memory, or from a measurement."""
        fitted = self.calibration is not None and self.calibration.cpu == self.cpu
        return fitted or self.weights != UNKNOWN


class Overhead(NamedTuple):
    """Cycles of a runtime beside its kernels, least and most."""

    run: tuple[int, int] = (0, 0)
    """In each run."""
    operator: tuple[int, int] = (0, 0)
    """For each operator."""


OVERHEADS = {"tflm": Overhead((1000, 2200), (1200, 2100))}
"""Runtimes that were measured: nets of one, two and three tiny dense layers on NUCLEO-L4R5ZI."""
