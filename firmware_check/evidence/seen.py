"""What the device showed of a release's hazards and branches, as plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from firmware_check.build import Bench
from firmware_check.errors import FirmwareError
from firmware_check.evidence.both_apis import step_of
from firmware_check.evidence.call_layer import WITHOUT_BUFFER, CallStep, without_buffer
from firmware_check.evidence.call_line import call_text
from firmware_check.evidence.call_runs import CallRun, run_steps
from firmware_check.evidence.float_calls import LARGE, TWINS
from firmware_check.evidence.float_layer import float_step
from firmware_check.evidence.smallest_calls import TRIES, Routed, Side, hazards_on, routed, sides, witnesses
from firmware_check.legacy.score_calls import score_steps
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.evidence import CONFIRMED, BranchSeen, HazardSeen
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT, Hazard
from onnxlint_cmsis.cmsis_nn.route import route
from onnxlint_cmsis.cmsis_nn.tables import hazards
from onnxlint_cmsis.ground.types import Target

NOT_CONFIRMED, NOT_BUILT, OTHER_CODE = "not confirmed", "cannot be built", "other code"


C_INSTEAD = "this compiler is given C code instead of the inline assembly that has it (ARM_MATH_AUTOVECTORIZE)"
"""Why a hazard of inline assembly is not seen."""


NO_PARAMETER = "the function has no parameter for an initial state: its signature says so, no call can show it"
"""Why a hazard of what cannot be given is not run."""


def hazards_seen(bench: Bench, folder: Path, names: Collection[str] = ()) -> list[HazardSeen]:
    """Each hazard of the release on one board, or those of these names: its smallest call, run."""
    calls = routed(bench.target)
    rows = [row for row in hazards_on(bench.target) if not names or row.id in names]
    steps = {row.id: _steps(row, calls, bench) for row in rows}
    runs = run_steps([step for of_hazard in steps.values() for step in of_hazard], bench, folder)
    return [_seen(row, steps[row.id], runs, bench) for row in rows]


def _steps(row: Hazard, calls: dict[str, Routed], bench: Bench) -> list[CallStep]:
    if not row.caller:
        calls_of_row = enumerate(witnesses(row, calls))
        candidates = score_steps(row.id, TRIES) or [step_of(f"{row.id} {n}", call, bench) for n, call in calls_of_row]
        return [step for step in candidates if step.step.function and bench.library.has(step.step.function)]
    (function,) = row.kernels
    if function in WITHOUT_BUFFER:
        return [without_buffer(f"{row.id} 0", function)] if bench.library.has(function) else []
    reached = [
        call for call, taken in calls.get(row.entries[0], ()) if taken.effective == function and not taken.hazards
    ]
    steps = [step_of(f"{row.id} 0", call, bench) for call in reached[:1]]
    return [
        step._replace(step=replace(step.step, numbers={**step.step.numbers, "null_context": True}), expected=None)
        for step in steps
    ]


def _seen(row: Hazard, steps: list[CallStep], runs: dict[str, CallRun], bench: Bench) -> HazardSeen:
    """The first call that shows the hazard, else what the first one did."""
    ran = [(step, runs[step.step.label]) for step in steps if step.step.label in runs]
    for step, run in ran:
        said = _shown(row, run)
        if said:
            return HazardSeen(row.id, CONFIRMED, said, _text(step))
    if ran and ran[0][1].failed:
        return HazardSeen(row.id, NOT_BUILT, ran[0][1].failed, _text(ran[0][0]))
    if ran and row.assembly and not bench.compiler.assembly:
        return HazardSeen(row.id, OTHER_CODE, C_INSTEAD, _text(ran[0][0]))
    if ran:
        return HazardSeen(row.id, NOT_CONFIRMED, _seen_instead(ran[0][1]), _text(ran[0][0]))
    return HazardSeen(row.id, NOT_BUILT, _why_not(row, steps), _text(steps[0]) if steps else "")


def _shown(row: Hazard, run: CallRun) -> str:
    """What was seen of a hazard; empty where nothing of it was."""
    if run.ended:
        return run.ended if row.kind != "returns-error" else ""
    if row.kind == "returns-error" and row.status is not None and run.trouble.status != row.status:
        return ""
    said = run.trouble.of(row)
    return said[0] if row.kind == "returns-error" and said else "; ".join(said)


def _seen_instead(run: CallRun) -> str:
    """What a run showed where a hazard was not confirmed."""
    said = [*([f"status {run.trouble.status}"] if run.trouble.status else []), *run.trouble.damage, *run.trouble.wrong]
    return "; ".join(said) or "status 0, values right, no guard overwritten"


def _why_not(row: Hazard, steps: list[CallStep]) -> str:
    if steps:
        return "its call does not fit the board"
    if row.id.startswith("lstm"):
        return NO_PARAMETER
    return "no call was found that meets it"


def _text(step: CallStep) -> str:
    return call_text(step.step.call) if step.step.call else f"{step.step.function} without a buffer"


def float_hazards_on(target: Target, kind: str) -> list[Hazard]:
    """The rows of a type and instruction set."""
    return [row for row in hazards(FLOAT) if row.id.endswith(f"-{kind}") and row.on(target)]


def float_hazards_seen(bench: Bench, folder: Path) -> list[HazardSeen]:
    """Each hazard of a type on one board: a call that meets it shows it, and its neighbour does not."""
    kind = bench.floating
    rows = float_hazards_on(bench.target, kind)
    steps = []
    for row in rows:
        twins = TWINS[row.id.removesuffix(f"-{kind}")]
        steps.append(float_step(f"{row.id} met", twins.met, kind, twins.data))
        steps.append(float_step(f"{row.id} beside", twins.beside, kind, twins.beside_data or twins.data))
    runs = run_steps(steps, bench, folder)
    return [
        _twins_seen(row, [step for step in steps if step.step.label.rpartition(" ")[0] == row.id], runs) for row in rows
    ]


def _twins_seen(row: Hazard, steps: list[CallStep], runs: dict[str, CallRun]) -> HazardSeen:
    """What the two calls of a hazard for f32 or f16 did."""
    ran = [runs.get(step.step.label) for step in steps]
    text = _text(steps[0])
    if ran[0] is None or ran[1] is None:
        return HazardSeen(row.id, NOT_BUILT, "its call does not fit the board", text)
    if failed := ran[0].failed or ran[1].failed:
        return HazardSeen(row.id, NOT_BUILT, failed, text)
    said = [_shown_by_float(row, run) for run in (ran[0], ran[1])]
    if said[0] and not said[1]:
        return HazardSeen(row.id, CONFIRMED, f"{said[0]}; its neighbour is right: {_text(steps[1])}", text)
    instead = f"its neighbour shows it too: {said[1]}" if said[0] else _seen_instead(ran[0])
    return HazardSeen(row.id, NOT_CONFIRMED, instead, text)


def _shown_by_float(row: Hazard, run: CallRun) -> str:
    if row.kind != INEXACT:
        return _shown(row, run)
    limit = LARGE[row.id.rpartition("-")[2]]
    return f"off by {run.off:.2g} of the larger of a result and 0.5" if run.off > limit else ""


def branches_seen(bench: Bench, folder: Path) -> list[BranchSeen]:
    """Each branch of the release's wrappers on one board: calls on both sides of its condition, run."""
    chosen = list(sides(bench.target, routed(bench.target)))
    steps = [step_of(f"call {number}", side.call, bench) for number, side in enumerate(chosen)]
    runs = run_steps(steps, bench, folder)
    ran = [(side, runs.get(f"call {number}")) for number, side in enumerate(chosen)]
    names = dict.fromkeys(side.branch for side in chosen)
    return [_branch(name, [side for side in ran if side[0].branch == name], bench) for name in names]


def _unlike(side: Side, run: CallRun, bench: Bench) -> list[str]:
    """What a call did that is not as predicted; wrong values and damage only where no hazard explains them."""
    known = any(run.trouble.of(hazard) for hazard in route(side.call, bench.target).hazards)
    trouble = [] if known else [*run.trouble.wrong, *run.trouble.damage]
    ended = run.failed or ("" if known else run.ended)
    return [*run.unlike, *trouble, *([ended] if ended else [])]


def _branch(name: str, ran: list[tuple[Side, CallRun | None]], bench: Bench) -> BranchSeen:
    done = [(side, run) for side, run in ran if run is not None]
    said = [(side, _unlike(side, run, bench)) for side, run in done]
    unlike = [f"{call_text(side.call)}: {'; '.join(disagreements)}" for side, disagreements in said if disagreements]
    taken = sum(1 for side, _ in done if side.holds)
    return BranchSeen(name, taken, len(done) - taken, tuple(unlike))


def checked(results: list[HazardSeen], branches: list[BranchSeen]) -> None:
    """FirmwareError where nothing ran: a table without rows would say that all is well."""
    if not any(row.outcome != NOT_BUILT for row in results) or not branches:
        raise FirmwareError("no call of this copy of CMSIS-NN ran")
