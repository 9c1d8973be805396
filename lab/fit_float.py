"""Fits the instructions of functions for f32 and f16 to tests/data/cost_float_*.json.gz, of measure_float.py.

`python lab/fit_float.py [--check]` writes the part `float` of `instructions/main-*.json`, one file for each CPU. Counts
are exact, so that a least-squares fit leaves what the loops do not tell: tests hold the shapes held apart to LIMITS.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fit_later_costs import differs
from float_calls import MeasuredCall, calls
from measure_float import measured_numbers
from onnxlint_cmsis.cmsis_nn.cost_records import CPUS, FLOAT_CPUS, FOLDER, FUSED, float_build
from onnxlint_cmsis.cmsis_nn.float.loops import ALONE, FULL, UNBIASED, ZERO, deciding, float_counts
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, sizes_of
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import Function, Isa, Target

RELEASE = "main"
TARGETS = [parse_target(cpu, RELEASE) for cpu in sorted({*CPUS.values(), *FLOAT_CPUS.values()})]
BUILDS = {float_build(built).name: built for target in TARGETS for built in (target, target._replace(fused=True))}
"""Files, each of an instruction set as measured on its CPU, or of another CPU, with and without -ffp-contract=fast."""
CALLER = 14
"""Instructions that hand over the arguments: the median by which CMSIS-NN's vectors are above these counts, less 7 that
reading their clock takes."""
PRODUCTS = {Function.CONVOLVE, Function.DEPTHWISE, Function.FULLY_CONNECTED, Function.BATCH_MATMUL}
READ_PADDING = tuple(
    f"arm_{name}_{kind}"
    for name in (
        "convolve_nhwc_patch_gemm", "convolve_1_x_n_nhwc", "depthwise_conv_nhwc_fast_chmult1_kc_nt_t",
        "depthwise_conv_nhwc_to_conv_packed", "avg_pool",
    )
    for kind in ("f32", "f16")
)  # fmt: skip
"""Kernels that multiply zeros of the padding, and average pools, which divide by another number there. Software takes
less for zeros: the most that such a call takes is fitted to calls without padding."""
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
    told: bool
    """Whether its data are those that its pieces stand for: windows have no padding where no number is to be 0."""


def measured_as(build: str) -> str:
    """What measure_float.py calls a build."""
    return f"{BUILDS[build].cpu}{FUSED if build.endswith(FUSED) else ''}"


def float_rows(build: str, part: str, every: int = 1) -> list[FloatRow]:
    """The measured calls of a part, `fit` or `apart`, whose loops are known; one of so many."""
    target = BUILDS[build]
    pairs = [*zip(calls(part, target.cpu), measured_numbers(measured_as(build), part), strict=True)]
    return [row for measured, number in pairs[::every] if (row := _row(measured, number, target))]


def _row(measured: MeasuredCall, number: int, target: Target) -> FloatRow | None:
    call, isa, taken = measured.call, target.isa, route(measured.call, target)
    data = f".{measured.data}" if measured.data else FULL
    data = data if deciding(call, isa) else ""
    counts = float_counts(call, float_build(target), taken, data)
    if counts is None or (measured.data and isa is Isa.SCALAR and not data):  # a copy, once for each kind of data
        return None
    entry, _, kind = call.entry.rpartition("_")
    multiplies = call.function in PRODUCTS or entry in ALONE
    family = kind if multiplies or entry == "max_pool" else call.entry
    named = f"{taken.kernel}{data}" if isa is Isa.SCALAR else taken.kernel
    size = sizes_of(call)
    padded = size is not None and taken.kernel in READ_PADDING and size.plane.inside < size.pixels * size.taps
    told = not (padded and data == FULL)
    return FloatRow(named, family, counts, number + CALLER, LIMITS[multiplies], told)


def fit_float(rows: Iterable[FloatRow]) -> dict[str, float]:
    """Instructions of one turn of every piece."""
    families: dict[str, list[FloatRow]] = defaultdict(list)
    for row in rows:
        if row.told:
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
    # A piece that was seen in too few calls of a kind of data has the cost of zeros.
    told = [data for data in (FULL, ZERO, ZERO + UNBIASED) if any(name.endswith(data) for name in table)]
    for name, value in sorted(table.items()):
        stem = name.removesuffix(UNBIASED).removesuffix(ZERO)
        if stem != name:
            for data in told:
                table.setdefault(f"{stem}{data}", value)
    return dict(sorted(table.items()))


def float_errors(rows: Iterable[FloatRow], table: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
    """Absolute errors and limits in percent, by function; of calls that have a piece no fit saw nothing is said."""
    errors: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.told and row.counts.keys() <= table.keys():
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
