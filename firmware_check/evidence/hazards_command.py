"""`python -m firmware_check hazards --cmsis-nn DIR`: every hazard and every branch of a release, seen on the device."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from firmware_check.arguments import CheckParser, board_named, count, seconds
from firmware_check.build import Bench
from firmware_check.compilers import COMPILERS, compiler_named, label_of
from firmware_check.ending import say
from firmware_check.evidence.hazard_results import NOT_CONFIRMED, branches_seen, checked, hazards_seen
from firmware_check.evidence.record_file import record, today
from firmware_check.legacy.cmsis_5 import open_any
from onnxlint_cmsis.cmsis_nn.observed import BranchSeen, HazardSeen, Recorded
from onnxlint_cmsis.reporters.plain import printable

CPUS = ("cortex-m3", "cortex-m4", "cortex-m55")
"""One of each instruction set."""


def main(argv: list[str]) -> int:
    """Print what was seen; 0 where all is as the tables say, 1 where something is not."""
    parser = CheckParser(prog="firmware_check hazards", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--cmsis-nn", required=True, metavar="DIR", help="checkout of CMSIS-NN, or of CMSIS 5")
    add("--cpu", action="append", metavar="CPU", help=f"several times for several. Default: {', '.join(CPUS)}.")
    add(
        "--compiler", default="gcc", metavar="NAME", help=f"{' or '.join(row.name for row in COMPILERS)}. Default: gcc."
    )
    add("--jobs", type=count, default=os.cpu_count() or 1, metavar="N", help="processes at a time")
    add("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="for one run of QEMU. Default: 600.")
    add("--record", default="", metavar="FILE", help="put the results into this JSON file")
    args = parser.parse_args(argv)
    library, row = open_any(args.cmsis_nn), compiler_named(args.compiler)
    worst = 0
    for name in args.cpu or CPUS:
        bench = Bench(board_named(name), library, args.timeout, row, args.jobs)
        with tempfile.TemporaryDirectory(prefix="firmware_check-") as folder:
            hazards = hazards_seen(bench, Path(folder) / "hazards")
            branches = branches_seen(bench, Path(folder) / "branches")
        checked(hazards, branches)
        run = Recorded(
            library.release, bench.board.cpu, label_of(row), today(), tuple(hazards), tuple(branches)
        )  # fmt: skip
        say("".join(f"{printable(line)}\n" for line in _lines(run)))
        worst = max(worst, _worst(hazards, branches))
        if args.record:
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


def _worst(hazards: list[HazardSeen], branches: list[BranchSeen]) -> int:
    unlike = any(row.outcome == NOT_CONFIRMED for row in hazards) or any(branch.unlike for branch in branches)
    return int(unlike)
