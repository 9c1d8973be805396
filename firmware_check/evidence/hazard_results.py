"""What the device showed of a release's hazards and branches, as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from firmware_check.evidence.any_api import step_of
from firmware_check.evidence.call_runs import run_steps
from firmware_check.evidence.call_steps import WITHOUT_BUFFER, CallStep, without_buffer
from firmware_check.evidence.call_text import call_text
from firmware_check.evidence.witnesses import Side, hazards_on, routed, sides, witnesses
from onnxlint_cmsis.cmsis_nn.observed import BranchSeen, HazardSeen
from onnxlint_cmsis.cmsis_nn.route import route

if TYPE_CHECKING:
    from pathlib import Path

    from firmware_check.build import Bench
    from firmware_check.evidence.call_runs import CallRun
    from firmware_check.evidence.witnesses import Routed
    from onnxlint_cmsis.cmsis_nn.rows import Hazard

CONFIRMED, NOT_CONFIRMED, NOT_BUILT, OTHER_CODE = "confirmed", "not confirmed", "cannot be built", "other code"
C_INSTEAD = "this compiler is given C code instead of the inline assembly that has it (ARM_MATH_AUTOVECTORIZE)"
"""Why a hazard of inline assembly is not seen."""
NO_PARAMETER = "the function has no parameter for an initial state: its signature says so, no call can show it"
"""Why a hazard of what cannot be given is not run."""


def hazards_seen(bench: Bench, folder: Path) -> list[HazardSeen]:
    """Each hazard of the release on one board: its smallest call, run."""
    calls = routed(bench.target)
    rows = hazards_on(bench.target)
    made = {row.id: _steps(row, calls, bench) for row in rows}
    runs = run_steps([step for steps in made.values() for step in steps], bench, folder)
    return [_seen(row, made[row.id], runs, bench) for row in rows]


def _steps(row: Hazard, calls: dict[str, Routed], bench: Bench) -> list[CallStep]:
    if not row.caller:
        found = [step_of(f"{row.id} {n}", call, bench) for n, call in enumerate(witnesses(row, calls))]
        return [each for each in found if each.step.function and bench.library.has(each.step.function)]
    (function,) = row.kernels
    if function in WITHOUT_BUFFER:
        return [without_buffer(f"{row.id} 0", function)] if bench.library.has(function) else []
    reached = [
        call for call, taken in calls.get(row.entries[0], ()) if taken.effective == function and not taken.hazards
    ]
    steps = [step_of(f"{row.id} 0", call, bench) for call in reached[:1]]
    return [
        each._replace(step=replace(each.step, numbers={**each.step.numbers, "null_context": True}), expected=None)
        for each in steps
    ]


def _seen(row: Hazard, made: list[CallStep], runs: dict[str, CallRun], bench: Bench) -> HazardSeen:
    """The first call that shows the hazard, else what the first one did."""
    ran = [(each, runs[each.step.label]) for each in made if each.step.label in runs]
    for each, run in ran:
        said = _shown(row, run)
        if said:
            return HazardSeen(row.id, CONFIRMED, said, _text(each))
    if ran and row.assembly and not bench.compiler.assembly:
        return HazardSeen(row.id, OTHER_CODE, C_INSTEAD, _text(ran[0][0]))
    if ran:
        return HazardSeen(row.id, NOT_CONFIRMED, _other(ran[0][1]), _text(ran[0][0]))
    return HazardSeen(row.id, NOT_BUILT, _why_not(row, made), _text(made[0]) if made else "")


def _shown(row: Hazard, run: CallRun) -> str:
    """What was seen of a hazard; empty where nothing of it was."""
    if run.ended:
        return run.ended if row.kind != "returns-error" else ""
    if row.kind == "returns-error" and row.status is not None and run.trouble.status != row.status:
        return ""
    said = run.trouble.of(row)
    return said[0] if row.kind == "returns-error" and said else "; ".join(said)


def _other(run: CallRun) -> str:
    said = [*([f"status {run.trouble.status}"] if run.trouble.status else []), *run.trouble.damage, *run.trouble.wrong]
    return "; ".join(said) or "status 0, values right, no guard overwritten"


def _why_not(row: Hazard, made: list[CallStep]) -> str:
    if made:
        return "its call does not fit the board"
    if row.id.startswith("lstm"):
        return NO_PARAMETER
    return "no call was found that meets it"


def _text(made: CallStep) -> str:
    return call_text(made.step.call) if made.step.call else f"{made.step.function} without a buffer"


def branches_seen(bench: Bench, folder: Path) -> list[BranchSeen]:
    """Each branch of the release's wrappers on one board: calls on both sides of its condition, run."""
    chosen = list(sides(bench.target, routed(bench.target)))
    steps = [step_of(f"call {number}", side.call, bench) for number, side in enumerate(chosen)]
    runs = run_steps(steps, bench, folder)
    ran = [(side, runs.get(f"call {number}")) for number, side in enumerate(chosen)]
    names = dict.fromkeys(side.branch for side in chosen)
    return [_branch(name, [each for each in ran if each[0].branch == name], bench) for name in names]


def _unlike(side: Side, run: CallRun, bench: Bench) -> list[str]:
    """What a call did that is not as predicted; wrong values and damage only where no hazard explains them."""
    known = any(run.trouble.of(hazard) for hazard in route(side.call, bench.target).hazards)
    trouble = [] if known else [*run.trouble.wrong, *run.trouble.damage]
    return [*run.unlike, *trouble, *([run.ended] if run.ended and not known else [])]


def _branch(name: str, ran: list[tuple[Side, CallRun | None]], bench: Bench) -> BranchSeen:
    done = [(side, run) for side, run in ran if run is not None]
    said = [(side, _unlike(side, run, bench)) for side, run in done]
    unlike = [f"{call_text(side.call)}: {'; '.join(found)}" for side, found in said if found]
    taken = sum(1 for side, _ in done if side.holds)
    return BranchSeen(name, taken, len(done) - taken, tuple(unlike))


def checked(results: list[HazardSeen], branches: list[BranchSeen]) -> None:
    """FirmwareError where nothing ran: a table without rows would say that all is well."""
    if not any(row.outcome != NOT_BUILT for row in results) or not branches:
        raise FirmwareError("no call of this copy of CMSIS-NN ran")
