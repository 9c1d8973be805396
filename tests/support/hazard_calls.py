"""Hazards of a call, and the taps of a window that meet its input."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import KernelCall
from support.targets import target_of

CPUS = ("cortex-m3", "cortex-m4", "cortex-m55")


def ids(call: KernelCall, cpu: str = "cortex-m4", release: str = "7.0.0") -> list[str]:
    return [hazard.id for hazard in route(call, target_of(cpu, release)).hazards]


def taps_inside(size: int, taps: int, start: int, dilation: int) -> range:
    """The taps of a window that meet the input, as the kernels count them."""
    first = max(0, -(start // dilation)) if start < 0 else 0
    return range(first, max(first, min(taps, -((start - size) // dilation))))
