"""Makes onnxlint_cmsis/cmsis_nn/instructions/ from cost vectors: python lab/fit_cost.py [FOLDER] [--check].

FOLDER holds `<release>-<core>.jsonl.gz`, one JSON object a line: instructions retired by one call of the real library.
A core is `m0`, `m23`, `scalar` (Cortex-M3), `dsp` (M4) or `mve` (M55). Behind it stands a compiler other than gcc 12.2:
`-gcc13`, `-clang19`. Of Cortex-M55 softmax is left out there, as its MVE code has other loops than gcc 12.2's.
The loops are counted as onnxlint_cmsis/cmsis_nn/cost.py says; what one turn costs is found by non-negative
least squares of the relative errors. --check fits again and fails where a file is not what the vectors say.
Pieces that FOLDER has no rows for are fitted to tests/data/cost_later.jsonl.gz (lab/fit_later_costs.py), all that
is done without FOLDER.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cost_files import read_costs, write_costs
from fit_later_costs import update_later
from non_negative import non_negative
from onnxlint_cmsis.cmsis_nn.compiler_defects import SCALAR_SOFTMAX
from onnxlint_cmsis.cmsis_nn.compilers import GCC_12, MEASURED, MeasuredCompiler, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost import counts_of
from onnxlint_cmsis.cmsis_nn.cost_records import CPUS, FOLDER, integer_build
from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import KernelCall, Target

FLAGS = "-O3"
EMULATOR = "QEMU -icount shift=0, SysTick, one count over all repetitions of a row"
DIGITS = 2
"""Digits kept of the instructions of one turn: fewer than machines differ by."""
TOLERANCE = 0.001
"""By how much two fits may differ, relative to what they predict for a measured row."""


PROVENANCE = ("release", "isa", "cpu", "compiler", "flags", "emulator", "rows")
"""What a file says besides numbers that were worked out."""


OTHER_PARTS = ("later", "float")
"""Parts of a file that other measurements make."""


class Row(NamedTuple):
    """One measured call."""

    kind: str
    """Kind of layer, as in the vectors."""
    call: KernelCall
    """The call."""
    counts: Counts
    """How often each piece of its kernel runs."""
    instructions: float
    """Instructions retired."""
    family: str
    """Rows of one family share pieces and are fitted together."""


CORES = {"m0": "cortex-m0", "m23": "cortex-m23", **{isa.value: cpu for isa, cpu in CPUS.items()}}
"""End of a file's name to the CPU that the file was measured on."""


ENDINGS = {"": GCC_12, **{f"-{row.name}{row.version.partition('.')[0]}": row for row in MEASURED if row is not GCC_12}}
"""End of a file of vectors, behind its core, to the compiler that made its code."""


def vectors_in(folder: Path, release: str = "*") -> list[Path]:
    """The files of a folder whose core and compiler are known."""
    names = (f"{release}-{core}{ending}.jsonl.gz" for core in CORES for ending in ENDINGS)
    return sorted(path for name in names for path in folder.glob(name))


def compiler_of(path: Path) -> MeasuredCompiler:
    """The compiler that made the code of a file of vectors."""
    _, _, end = path.name.removesuffix(".jsonl.gz").rpartition("-")
    return ENDINGS[""] if end in CORES else ENDINGS[f"-{end}"]


def target_of(path: Path) -> Target:
    """The build that a file of vectors was measured on."""
    compiler = compiler_of(path)
    name = path.name.removesuffix(".jsonl.gz")
    if compiler is not GCC_12:
        name = name.rpartition("-")[0]
    release, _, core = name.rpartition("-")
    return parse_target(CORES[core], release, f"{compiler.name}@{compiler.version}")


def file_of(target: Target) -> Path:
    """The file of a build's instructions."""
    (compiler,) = measured_compilers(target)
    return FOLDER / f"{target.release}-{integer_build(target).name}{compiler.ending}.json"


def read(path: Path) -> list[Row]:
    """The rows of a file whose kernels' loops are known."""
    target = target_of(path)
    rows = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            row = row_of(record, target)
            if row is not None:
                rows.append(row)
    return rows


def row_of(record: Mapping[str, object], target: Target) -> Row | None:
    """One record as a row, None where nothing is known of its kernel."""
    call = call_of(record)
    taken = route(call, target)
    counts = counts_of(call, target, taken)
    if counts is None or (taken.effective in SCALAR_SOFTMAX.functions and _has_mve_softmax(target)):
        return None
    family = "convolve" if taken.effective.startswith("arm_convolve") else call.entry
    return Row(str(record["kind"]), call, counts, float(str(record["instructions"])), family)


def _has_mve_softmax(target: Target) -> bool:
    return SCALAR_SOFTMAX.changes(target) and not SCALAR_SOFTMAX.hits(target)


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """Instructions of one turn of every piece that the rows contain."""
    table: dict[str, float] = {}
    for family in sorted({row.family for row in rows}):
        members = [row for row in rows if row.family == family]
        names = sorted({name for row in members for name, times in row.counts.items() if times})
        counts = np.array([[row.counts.get(name, 0) for name in names] for row in members], dtype=np.float64)
        measured = np.array([row.instructions for row in members])
        solved = non_negative(counts / measured[:, None], np.ones(len(members)))
        table |= {name: round(float(value), DIGITS) for name, value in zip(names, solved, strict=True)}
    return table


def predicted(row: Row, table: Mapping[str, float]) -> float | None:
    """Instructions of a row by a table; None where the table lacks a piece that runs."""
    parts = [(times, table.get(name)) for name, times in row.counts.items() if times]
    known = [times * value for times, value in parts if value is not None]
    return sum(known) if len(known) == len(parts) else None


def errors(rows: Iterable[Row], table: Mapping[str, float]) -> list[float]:
    """Relative error of every row the table knows, in percent, without sign."""
    pairs = ((predicted(row, table), row.instructions) for row in rows)
    return [abs(number / measured - 1) * 100 for number, measured in pairs if number is not None]


def neighbours(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Pairs of rows that differ in one channel count alone: in_c, out_c or the multiplier, the smaller first."""
    for variable in ("in_c", "out_c", "ch_mult"):
        groups: dict[tuple[object, ...], list[tuple[int, Row]]] = {}
        for row in rows:
            key, value = _without(row, variable)
            groups.setdefault(key, []).append((value, row))
        for group in groups.values():
            ordered = sorted(group, key=lambda pair: pair[0])
            yield from ((row, other) for i, (_, row) in enumerate(ordered) for _, other in ordered[i + 1 :])


def _without(row: Row, variable: str) -> tuple[tuple[object, ...], int]:
    """What a row has in common with its neighbours, and the size they differ in."""
    call = row.call
    plane = (call.input_dims.h, call.input_dims.w, call.filter_dims.h, call.filter_dims.w, call.output_dims.h)
    rest: dict[str, int | None] = {
        "in_c": call.input_dims.c,
        "out_c": call.output_dims.c if row.kind in ("conv", "fc", "softmax") else None,
        "ch_mult": call.ch_mult,
    }
    value = rest.pop(variable)
    return (row.kind, variable, *plane, call.output_dims.w, call.stride, call.padding, *rest.values()), value or 0


def cost_file(path: Path, rows: Sequence[Row]) -> dict[str, object]:
    """The file of one build: provenance, errors, instructions."""
    target, table = target_of(path), fit(rows)
    kinds = sorted({row.kind for row in rows})
    report = {kind: errors([row for row in rows if row.kind == kind], table) for kind in kinds}
    return {
        "release": target.release,
        "isa": target.isa.value,
        "cpu": target.cpu,
        "compiler": compiler_of(path).label,
        "flags": FLAGS,
        "emulator": EMULATOR,
        "rows": {kind: len(report[kind]) for kind in kinds},
        "error_percent": {
            kind: {"median": _percentile(errors, 50), "p95": _percentile(errors, 95), "max": _percentile(errors, 100)}
            for kind, errors in report.items()
        },
        "instructions": dict(sorted(table.items())),
    }


def _percentile(errors: Sequence[float], percent: int) -> float:
    return round(float(np.percentile(errors, percent)), DIGITS)


def stale(file: Path, path: Path) -> bool:
    """Tell whether a committed file is not what the vectors say: other pieces, rows or predictions.

    Predictions are compared, not the numbers behind them: where two pieces always run together a machine may share
    the instructions between them in its own way.
    """
    rows = read(path)
    fresh = json.loads(json.dumps(cost_file(path, rows)))
    old = read_costs(file)
    if [old.get(name) for name in PROVENANCE] != [fresh[name] for name in PROVENANCE]:
        return True
    before, after = old["instructions"], fresh["instructions"]
    pairs = [(predicted(row, before), predicted(row, after)) for row in rows]
    differ = any(a is None or b is None or abs(a - b) > TOLERANCE * b for a, b in pairs)
    return differ or set(before) != set(after)


def main() -> int:
    """Write the files, or with --check compare them; 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of cost vectors")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is stale")
    args = parser.parse_args()
    code = 0
    for path in vectors_in(args.folder) if args.folder else ():
        file = file_of(target_of(path))
        if args.check:
            wrong = stale(file, path)
            code |= wrong
            print(f"{file.name}: {'stale' if wrong else 'up to date'}")
        else:
            report = cost_file(path, read(path))
            before = read_costs(file)
            write_costs(file, {**report, **{part: before[part] for part in OTHER_PARTS if part in before}})
            print(f"{file.name}: {json.dumps(report['error_percent'])}")
    for file in sorted(FOLDER.glob("*.json")):
        wrong = update_later(file, check=args.check)
        code |= wrong and args.check
        print(f"{file.name}, later measurements: {'stale' if wrong and args.check else 'up to date'}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
