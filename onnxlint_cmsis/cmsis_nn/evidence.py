"""What emulated devices showed of hazards and branches: the one place that says how a row is known."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.ground.named_tuples import NamedTuple

FILE = Path(__file__).parent / "observations.json"
"""Recorded results of the firmware check's command `hazards`."""
CONFIRMED = "confirmed"
READ = "read in the source"
"""How every row is known, beside what devices showed."""


class HazardSeen(NamedTuple):
    """What one board showed of a hazard."""

    hazard: str
    """Its id."""
    outcome: str
    """`confirmed`, `not confirmed`, `cannot be built`, or `other code` where a compiler is given other code."""
    seen: str
    """What the call did, or why there is none."""
    call: str
    """The call, in a line."""


class BranchSeen(NamedTuple):
    """What one board showed of a branch of a wrapper."""

    branch: str
    """Wrapper, number, kernel."""
    inside: int
    """Calls that ran and are predicted to take it."""
    outside: int
    """Calls that ran and that one part of its condition keeps out."""
    unlike: tuple[str, ...]
    """Calls whose kernels, status or scratch were not as predicted, with what was."""


class Recorded(NamedTuple):
    """One run of a release on a board."""

    release: str
    """CMSIS-NN release."""
    cpu: str
    """CPU of the board."""
    compiler: str
    """With its version."""
    date: str
    """Day of the run."""
    hazards: tuple[HazardSeen, ...]
    """In the order of the tables."""
    branches: tuple[BranchSeen, ...]
    """Branches of the wrappers, in the order of the tables."""


def recorded_of(data: dict[str, Any]) -> Recorded:
    """One run from its JSON form."""
    hazards = tuple(HazardSeen(*row) for row in data["hazards"])
    branches = tuple(BranchSeen(row[0], row[1], row[2], tuple(row[3])) for row in data["branches"])
    return Recorded(data["release"], data["cpu"], data["compiler"], data["date"], hazards, branches)


@cache
def recorded() -> tuple[Recorded, ...]:
    """Every run, in the file's order."""
    return tuple(recorded_of(record) for record in json.loads(FILE.read_text(encoding="utf-8")))


def evidence(hazard: Hazard, release: str) -> str:
    """How a hazard is known for a release, in words: seen on a device there or elsewhere, read, reported upstream."""
    here = _cpus(hazard.id, release)
    others = [name for name in dict.fromkeys(run.release for run in recorded()) if _cpus(hazard.id, name)]
    if here:
        known = f"seen on an emulated {_listed(here)} with CMSIS-NN {release}"
    elif others:
        known = f"seen on an emulated {_listed(_cpus(hazard.id, others[-1]))} with CMSIS-NN {_listed(others)}"
        known += f"; {READ} for {release}"
    else:
        known = READ
    return f"{known}; reported upstream ({hazard.reported})" if hazard.reported else known


def _cpus(hazard: str, release: str) -> list[str]:
    """CPUs on which a hazard was seen in a release."""
    return [
        run.cpu.replace("cortex-m", "Cortex-M")
        for run in recorded()
        if run.release == release
        for row in run.hazards
        if (row.hazard, row.outcome) == (hazard, CONFIRMED)
    ]


def _listed(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
