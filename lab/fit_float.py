"""Fits the instructions of functions for f32 and f16 to tests/data/cost_float.json.gz, which measure_float.py writes.

`python lab/fit_float.py [--check]` writes the part `float` of `instructions/main-*.json`, one file for each CPU. Counts
are exact, so that a least-squares fit leaves what the loops do not tell: tests hold the shapes held apart to LIMITS.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fit_later_costs import differs
from measure_float import FILE, MeasuredCall, calls
from onnxlint_cmsis.cmsis_nn.cost_records import CPUS, FLOAT_CPUS, FOLDER
from onnxlint_cmsis.cmsis_nn.float.loops import deciding, float_counts
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.loops import Counts
from onnxlint_cmsis.cmsis_nn.releases import parse_target
from onnxlint_cmsis.ground.types import Function, Isa

RELEASE = "main"
BUILDS = {"dsp": Isa.DSP, "mve": Isa.MVE, **dict.fromkeys(sorted({*FLOAT_CPUS.values()}), Isa.DSP)}
"""Files, each of an instruction set as measured on its CPU, or of another CPU."""
SCALE = {Isa.DSP: 1.0, Isa.MVE: 1.28}
"""Numbers for MVE are 1.28 times the instructions, as the clock of the emulated board counts them for integers too."""
CALLER = {Isa.DSP: 14, Isa.MVE: 20}
"""Instructions that hand over the arguments: the median by which CMSIS-NN's vectors are above these counts, less 7 that
reading their clock takes."""
PRODUCTS = {Function.CONVOLVE, Function.DEPTHWISE, Function.FULLY_CONNECTED, Function.BATCH_MATMUL}
FEWEST = 8
"""Rows that a piece has to be part of: of calls with a rarer one nothing is said."""
LIMITS = {True: 2.0, False: 5.0}
"""Percent that 95 of 100 shapes held apart may be off: functions that multiply matrices, and others."""


class FloatRow(NamedTuple):
    """One measured call."""

    kernel: str
    """Function that the entry point calls."""
    family: str
    """Rows of one family are fitted together."""
    counts: Counts
    """How often each piece runs."""
    instructions: float
    """What it costs."""
    limit: float
    """Percent that it may be off."""


def float_rows(build: str, part: str) -> list[FloatRow]:
    """The measured calls of a part, `fit` or `apart`, whose loops are known."""
    isa = BUILDS[build]
    cpu = CPUS[isa] if build == isa.value else build
    numbers = json.loads(gzip.decompress(FILE.read_bytes()))[cpu][part]
    pairs = zip(calls(part), numbers, strict=True)
    return [row for measured, number in pairs if number is not None and (row := _row(measured, number, isa, cpu))]


def _row(measured: MeasuredCall, number: int, isa: Isa, cpu: str) -> FloatRow | None:
    call, target = measured.call, parse_target(cpu, RELEASE)
    taken = route(call, target)
    data = f".{measured.data}" if measured.data and deciding(call, isa) else ""
    counts = float_counts(call, isa, taken, data)
    if counts is None:
        return None
    multiplies = call.function in PRODUCTS
    entry, _, kind = call.entry.rpartition("_")
    family = kind if multiplies or entry == "max_pool" else call.entry
    return FloatRow(taken.kernel, family, counts, number * SCALE[isa] + CALLER[isa], LIMITS[multiplies])


def fit_float(rows: Iterable[FloatRow]) -> dict[str, float]:
    """Instructions of one turn of every piece."""
    families: dict[str, list[FloatRow]] = defaultdict(list)
    for row in rows:
        families[row.family].append(row)
    table: dict[str, float] = {}
    for every in families.values():
        seen = Counter(name for row in every for name in row.counts)
        members = [row for row in every if all(seen[name] >= FEWEST for name in row.counts)]
        names = sorted({name for row in members for name in row.counts})
        counts = np.array([[row.counts.get(name, 0) for name in names] for row in members], dtype=np.float64)
        columns = counts / np.array([row.instructions for row in members])[:, None]
        norms = np.linalg.norm(columns, axis=0)
        solved = np.linalg.lstsq(columns / norms, np.ones(len(members)), rcond=1e-9)[0] / norms
        table |= {name: round(float(value), 4) for name, value in zip(names, solved, strict=True)}
    return dict(sorted(table.items()))


def float_errors(rows: Iterable[FloatRow], table: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
    """Absolute errors and limits in percent, by function; of calls that have a piece no fit saw nothing is said."""
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.counts.keys() <= table.keys():
            total = sum(times * table[name] for name, times in row.counts.items())
            errors[row.kernel].append((abs(total / row.instructions - 1) * 100, row.limit))
    return dict(sorted(errors.items()))


def float_costs(build: str) -> dict[str, Any]:
    """The part of a file: rows fitted, errors of the rows held apart, instructions."""
    rows = float_rows(build, "fit")
    table = fit_float(rows)
    told = {}
    for kernel, pairs in float_errors(float_rows(build, "apart"), table).items():
        error = [value for value, _ in pairs]
        told[kernel] = {
            "rows": len(error),
            "median": round(float(np.median(error)), 2),
            "p95": round(float(np.percentile(error, 95)), 2),
            "max": round(max(error), 2),
        }
    return {"rows": len(rows), "apart_error_percent": told, "instructions": table}


def main(argv: list[str]) -> int:
    """Write the parts, or say which are stale."""
    stale = []
    for build in BUILDS:
        file = FOLDER / f"{RELEASE}-{build}.json"
        data, fresh = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}, float_costs(build)
        if "--check" in argv:
            stale += [file.name] * differs(data.get("float", {}), fresh)
        else:
            file.write_text(json.dumps({**data, "float": fresh}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(f"{name} is stale" for name in stale))
    return len(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
