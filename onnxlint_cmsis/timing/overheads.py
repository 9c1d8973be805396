"""What a runtime takes beside its kernels."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Overhead(NamedTuple):
    """Cycles of a runtime beside its kernels, least and most."""

    run: tuple[int, int] = (0, 0)
    """In each run."""
    operator: tuple[int, int] = (0, 0)
    """For each operator."""


OVERHEADS = {"tflm": Overhead((1000, 2200), (1200, 2100))}
"""Runtimes that were measured: nets of one, two and three tiny dense layers on NUCLEO-L4R5ZI."""
