"""`python -m firmware_check hazards --cmsis-nn DIR`: every hazard and every branch of a release, seen on the device."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.build import Bench
from firmware_check.compilers import COMPILERS, compiler_named, label_of
from firmware_check.ending import complain, say
from firmware_check.errors import FirmwareError
from firmware_check.evidence.recorded_runs import record, record_rows, today
from firmware_check.evidence.seen import NOT_CONFIRMED, branches_seen, checked, float_hazards_seen, hazards_seen
from firmware_check.legacy.cmsis_5 import open_any
from firmware_check.options import CheckParser, boards_named, count, seconds
from onnxlint_cmsis.cmsis_nn.apis import FLOAT
from onnxlint_cmsis.cmsis_nn.evidence import BranchSeen, HazardSeen, Recorded
from onnxlint_cmsis.output.foreign_text import printable

if TYPE_CHECKING:
    pass


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
