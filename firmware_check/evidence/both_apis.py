"""Both APIs for the evidence: entry points and calls of a release, and the firmware layer of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.evidence.call_layer import CallStep, call_step
from firmware_check.evidence.call_pool import POOLED, pool
from firmware_check.legacy.candidates import LEGACY_POOL, legacy_pool
from firmware_check.legacy.legacy_call import legacy_step
from onnxlint_cmsis.cmsis_nn.apis import INTEGER, LEGACY, api_of
from onnxlint_cmsis.ground.types import KernelCall

if TYPE_CHECKING:
    from firmware_check.build import Bench
    from onnxlint_cmsis.cmsis_nn.hazard import Hazard


def old_api(release: str) -> bool:
    """Tell whether the evidence of a release calls the functions for q7 and q15."""
    return release.startswith("cmsis5-")


def entries_of(release: str) -> tuple[str, ...]:
    """Entry points that the evidence of a release calls."""
    return LEGACY_POOL if old_api(release) else POOLED


def calls_of(entry: str) -> tuple[KernelCall, ...]:
    """Calls of an entry point, smallest first."""
    return legacy_pool(entry) if api_of(entry) is LEGACY else pool(entry)


def is_called(hazard: Hazard, release: str) -> bool:
    """Tell whether a row belongs to the API that the evidence of a release calls."""
    return api_of(hazard.entries[0]) is (LEGACY if old_api(release) else INTEGER)


def step_of(label: str, call: KernelCall, bench: Bench) -> CallStep:
    """A call as a layer of firmware."""
    if api_of(call.entry) is LEGACY:
        return legacy_step(label, call, bench.target)
    return call_step(label, call, bench.library)
