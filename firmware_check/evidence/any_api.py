"""Both APIs for the evidence: entry points and calls of a release, and the firmware layer of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.evidence import call_pool
from firmware_check.evidence.call_steps import CallStep, call_step
from firmware_check.legacy.legacy_call import legacy_step
from firmware_check.legacy.legacy_pool import LEGACY_POOL, legacy_pool
from onnxlint_cmsis.cmsis_nn.kinds_of_q import is_legacy

if TYPE_CHECKING:
    from firmware_check.build import Bench
    from onnxlint_cmsis.cmsis_nn.rows import Hazard
    from onnxlint_cmsis.types import KernelCall


def old_api(release: str) -> bool:
    """Whether the evidence of a release calls the functions for q7 and q15."""
    return release.startswith("cmsis5-")


def entries_of(release: str) -> tuple[str, ...]:
    """Entry points that the evidence of a release calls."""
    return LEGACY_POOL if old_api(release) else call_pool.ENTRIES


def calls_of(entry: str) -> tuple[KernelCall, ...]:
    """Calls of an entry point, smallest first."""
    return legacy_pool(entry) if is_legacy(entry) else call_pool.pool(entry)


def is_called(hazard: Hazard, release: str) -> bool:
    """Whether a row belongs to the API that the evidence of a release calls."""
    return is_legacy(hazard.entries[0]) is old_api(release)


def step_of(label: str, call: KernelCall, bench: Bench) -> CallStep:
    """A call as a layer of firmware."""
    if is_legacy(call.entry):
        return legacy_step(label, call, bench.target)
    return call_step(label, call, bench.library)
