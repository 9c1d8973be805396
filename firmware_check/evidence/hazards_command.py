"""firmware_check hazards: every hazard row run on an emulated device, and the record of what was seen."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.build import Bench
from firmware_check.compilers import COMPILERS, compiler_named, label_of
from firmware_check.errors import FirmwareError
from firmware_check.evidence.call_pool import calls_of, entries_of, is_called, step_of
from firmware_check.evidence.call_runs import WITHOUT_BUFFER, CallStep, call_text, run_steps, without_buffer
from firmware_check.evidence.float_calls import LARGE, TWINS, float_step
from firmware_check.legacy.cmsis_5 import open_any
from firmware_check.legacy.score_calls import score_steps
from firmware_check.options import CheckParser, boards_named, complain, count, say, seconds
from onnxlint_cmsis.cmsis_nn.evidence import CONFIRMED, BranchSeen, HazardSeen, Recorded, recorded_of
from onnxlint_cmsis.cmsis_nn.families import FLOAT, LEGACY, family_of
from onnxlint_cmsis.cmsis_nn.hazard import INEXACT
from onnxlint_cmsis.cmsis_nn.releases import RELEASES
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.cmsis_nn.tables import all_hazards, hazards, wrapper_for
from onnxlint_cmsis.ground.atomic_write import write_text
from onnxlint_cmsis.output.plain import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from firmware_check.evidence.call_runs import CallRun
    from onnxlint_cmsis.cmsis_nn.hazard import Hazard
    from onnxlint_cmsis.cmsis_nn.rows import Branch
    from onnxlint_cmsis.ground.types import KernelCall, Target


# The smallest calls that show what a row says: one that meets a hazard, one on each side of a branch's condition.


TRIES = 3
"""Calls that are run of one hazard: its effect may hide behind the numbers of one."""
Routed = list[tuple["KernelCall", Route]]


class Side(NamedTuple):
    """A call on one side of a branch's condition."""

    branch: str
    """The branch, by wrapper and kernel."""
    asks: str
    """The condition of which the call is on one side."""
    holds: bool
    """Whether the branch is taken."""
    call: KernelCall
    """The smallest call there is."""


def hazards_on(target: Target) -> tuple[Hazard, ...]:
    """The rows of a release and instruction set."""
    rows = (row for row in all_hazards() if row.on(target))
    return tuple(row for row in rows if is_called(row, target.release))


def routed(target: Target) -> dict[str, Routed]:
    """The calls that are drawn, by entry point, with their routes."""
    return {entry: [(call, route(call, target)) for call in calls_of(entry)] for entry in entries_of(target.release)}


def witnesses(hazard: Hazard, calls: dict[str, Routed]) -> list[KernelCall]:
    """Calls that meet a hazard: first those that meet no other, the smallest first; its own entry point first."""
    alone, among = [], []
    for entry in hazard.entries:
        for call, taken in calls.get(entry, ()):
            ids = [hazard.id for hazard in taken.hazards]
            if ids == [hazard.id]:
                alone.append(call)
            elif hazard.id in ids:
                among.append(call)
    return [*alone, *among][:TRIES]


def sides(target: Target, calls: dict[str, Routed]) -> Iterator[Side]:
    """For each branch of the target's wrappers a call that takes it, and one that each part of its condition bars."""
    for entry, entry_calls in calls.items():
        wrapper = wrapper_for(entry)
        branches = wrapper.branches_for(target) if wrapper else ()
        if len(branches) < 2 and not (branches and family_of(entry) is LEGACY):
            continue
        for number, branch in enumerate(branches):
            yield from _of_branch(f"{entry}, branch {number + 1} to {branch.kernel}", branches, number, entry_calls)


def _of_branch(name: str, branches: tuple[Branch, ...], number: int, calls: Routed) -> Iterator[Side]:
    before, branch = branches[:number], branches[number]
    reached = [
        (call, taken)
        for call, taken in calls
        if taken.kernel and not any(earlier.when.evaluate(call.variables()) for earlier in before)
    ]
    inside = _best([(call, taken) for call, taken in reached if branch.when.evaluate(call.variables())])
    if inside is not None:
        yield Side(name, branch.when.explain(), True, inside)
    for part in branch.when.parts if branch.when.op == "all" else (branch.when,):
        outside = _best([(c, taken) for c, taken in reached if branch.when.failures(c.variables()) == (part,)])
        if outside is not None:
            yield Side(name, part.explain(), False, outside)


def _best(calls: Routed) -> KernelCall | None:
    """The smallest call, of those without hazards where there are any."""
    quiet = [call for call, taken in calls if not taken.hazards]
    return next(iter([*quiet, *(call for call, _ in calls)]), None)


# Results of runs in a JSON file: one line for each row, so that a change is seen.


def record(path: str, run: Recorded) -> None:
    """Put a run in its place, in the order of releases, CPUs and compilers; one of the same three is replaced."""
    runs = [recorded for recorded in read(path) if _key(recorded) != _key(run)]
    runs = sorted(
        [*runs, run],
        key=lambda recorded: (RELEASES.index(recorded.release), len(recorded.cpu), recorded.cpu, recorded.compiler),
    )
    write_text(path, f"[\n{','.join(map(_record_text, runs)).lstrip()}]\n")


def record_rows(path: str, run: Recorded, target: Target) -> None:
    """Put some hazards of a run into the recorded one of the same compiler, in the order of the tables."""
    old = next((old for old in read(path) if (_key(old), old.compiler) == (_key(run), run.compiler)), None)
    if old is None:
        raise FirmwareError(f"{path}: no run of CMSIS-NN {run.release} on {run.cpu} with {run.compiler} to add rows to")
    rows = {row.hazard: row for row in (*old.hazards, *run.hazards)}
    order = [name for name in (row.id for row in hazards_on(target)) if name in rows]
    hazards = (*(rows[name] for name in order), *(row for name, row in rows.items() if name not in order))
    record(path, old._replace(hazards=hazards))


def read(path: str) -> list[Recorded]:
    """The runs in a file; none where there is no file."""
    if not Path(path).is_file():
        return []
    try:
        return [recorded_of(row) for row in json.loads(Path(path).read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError):
        raise FirmwareError(f"{path}: no results of firmware_check hazards") from None


def today() -> str:
    """The day, as 2026-11-22."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


def _key(run: Recorded) -> tuple[str, str, str]:
    return run.release, run.cpu, run.compiler.split()[0]


def _record_text(run: Recorded) -> str:
    head = {"release": run.release, "cpu": run.cpu, "compiler": run.compiler, "date": run.date}
    rows = {"hazards": run.hazards, "branches": run.branches}
    lines = {name: ",\n   ".join(json.dumps(row) for row in recorded) for name, recorded in rows.items()}
    listed = [f'  "{name}": [\n   {text}\n  ]' for name, text in lines.items()]
    whole = [*(f'  "{name}": {json.dumps(value)}' for name, value in head.items()), *listed]
    return " {\n" + ",\n".join(whole) + "\n }\n"


# What the device showed of a release's hazards and branches, as plain data.


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


# `python -m firmware_check hazards --cmsis-nn DIR`: every hazard and every branch of a release, seen on the device.


CPUS = ("cortex-m3", "cortex-m4", "cortex-m55")
"""A CPU of each instruction set."""


def main(argv: list[str]) -> int:
    """Print what was seen; 0 where all is as the tables say, 1 where something is not."""
    parser = CheckParser(prog="firmware_check hazards", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--cmsis-nn", required=True, metavar="DIR", help="checkout of CMSIS-NN, or of CMSIS 5")
    add("--target", action="append", metavar="CPU", help=f"CPUs. Default: {','.join(CPUS)}.")
    add(
        "--compiler", default="gcc", metavar="NAME", help=f"{' or '.join(row.name for row in COMPILERS)}. Default: gcc."
    )
    add("--jobs", type=count, default=os.cpu_count() or 1, metavar="N", help="processes at a time")
    add("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="for one run of QEMU. Default: 600.")
    add("--record", default="", metavar="FILE", help="put the results into this JSON file")
    add("--row", action="append", default=[], metavar="ID", help="only this hazard of integers, and no branch")
    add("--assume", default="", choices=FLOAT.types, help="functions for f32 or f16 alone")
    args = parser.parse_args(argv)
    library, row = open_any(args.cmsis_nn), compiler_named(args.compiler)
    floats = [kind for kind in FLOAT.types if library.has(f"arm_convolve_wrapper_{kind}")]
    if args.assume and not floats:
        raise FirmwareError(f"{library.label} has no functions for {args.assume}")
    worst = 0
    for board in boards_named(args.target, CPUS):
        bench = Bench(board, library, args.timeout, row, args.jobs)
        rows: list[HazardSeen] = []
        branches: list[BranchSeen] = []
        with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
            if args.row:
                rows += hazards_seen(bench, Path(folder) / "hazards", args.row)
            elif not args.assume:
                rows += hazards_seen(bench, Path(folder) / "hazards")
                branches += branches_seen(bench, Path(folder) / "branches")
                checked(rows, branches)
            for kind in [] if args.row else [args.assume] if args.assume else floats:
                of_kind = replace(bench, floating=kind)
                try:
                    of_kind.refuse_unlinkable()
                except FirmwareError as error:
                    if args.assume:
                        raise
                    complain(f"firmware_check hazards: {board.cpu}: {error}")
                else:
                    rows += float_hazards_seen(of_kind, Path(folder) / kind)
        run = Recorded(library.release, bench.board.cpu, label_of(row), today(), tuple(rows), tuple(branches))
        say("".join(f"{printable(line)}\n" for line in _lines(run)))
        unlike = any(row.outcome == NOT_CONFIRMED for row in rows) or any(branch.unlike for branch in branches)
        worst = max(worst, int(unlike))
        if args.record and args.row:
            record_rows(args.record, run, bench.target)
        elif args.record:
            record(args.record, run)
    return worst


def _lines(run: Recorded) -> list[str]:
    lines = [f"CMSIS-NN {run.release} on {run.cpu}, {run.compiler}"]
    lines += [f"  {row.hazard}: {row.outcome}: {row.seen}{f' ({row.call})' if row.call else ''}" for row in run.hazards]
    for branch in run.branches:
        lines.append(
            f"  {branch.branch}: {branch.inside} calls take it, {branch.outside} are kept out by one condition"
        )
        lines += [f"    not as predicted: {said}" for said in branch.unlike]
    return lines
