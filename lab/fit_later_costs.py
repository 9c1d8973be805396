"""Fits the pieces that were measured later to tests/data/cost_later.jsonl.gz, and checks the shapes held apart.

A line of the file is one shape with the instructions of its call in each build, and its part: `fit`, or `apart` for
shapes that no fit sees. `python -m firmware_check sweep --like FILE` measures its shapes. Earlier pieces keep their
costs. Non-negative least squares, relative to the whole call, fit the later ones to the remaining instructions; pieces
of layers without a bias may also save some.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cost_files import read_costs, write_costs
from non_negative import non_negative
from onnxlint_cmsis.cmsis_nn.compilers import MEASURED, measured_compilers
from onnxlint_cmsis.cmsis_nn.cost import counts_of
from onnxlint_cmsis.cmsis_nn.cost_records import integer_build
from onnxlint_cmsis.cmsis_nn.data_ranges import KERNELS, ends_of
from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts
from onnxlint_cmsis.cmsis_nn.loops.without_bias import KERNELS as WITHOUT_BIAS
from onnxlint_cmsis.cmsis_nn.loops.without_bias import WORD
from onnxlint_cmsis.cmsis_nn.targets import parse_isa, parse_target
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target

FILE = Path(__file__).parent.parent / "tests" / "data" / "cost_later.jsonl.gz"
APART, FIT = "apart", "fit"
DIGITS = 2
TOLERANCE = 0.001
"""Largest difference of two fits, relative to their prediction for a measured row."""
MOST_ERROR = 8
"""Percent, of 95 in 100 shapes held apart, above which a kernel's cost is left unknown in a build."""
LEAST, MOST = 255, 2
"""Levels of an int8 softmax's data for the least and the most instructions; of an int16 one the shift decides."""


class LaterRow(NamedTuple):
    """One measured call."""

    kernel: str
    """Function that does the work; with `least` or `most` if the data decide."""
    family: str
    """Rows of one family are fitted together."""
    call: KernelCall
    """The call."""
    counts: Counts
    """How often each piece of its kernel runs."""
    instructions: float
    """Instructions retired."""
    part: str
    """`fit` or `apart`."""


@cache
def records() -> tuple[dict[str, Any], ...]:
    """The lines of the file."""
    with gzip.open(FILE, "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def target_named(build: str) -> Target:
    """The target of a build as records name it: `7.0.0-dsp`, `main-cortex-m0`, `7.0.0-mve-clang19.1`."""
    compiler = next(row for row in reversed(MEASURED) if build.endswith(row.ending))
    release, _, core = build.removesuffix(compiler.ending).partition("-")
    parse = parse_isa if core in {isa.value for isa in Isa} else parse_target
    return parse(core, release, f"{compiler.name}@{compiler.version}")


def later_rows(
    target: Target, parts: tuple[str, ...] = (FIT, APART), kinds: tuple[str, ...] = ()
) -> Iterator[LaterRow]:
    """Measured calls of one build. A record without main has the instructions of 7.0.0, to a count of the clock."""
    build = f"{integer_build(target).name}{measured_compilers(target)[0].ending}"
    builds = [f"{target.release}-{build}"]
    if target.release == "main":
        builds.append(f"7.0.0-{build}")
    for record in records():
        if record["part"] not in parts or (kinds and record["kind"] not in kinds):
            continue
        instructions = next((record["instructions"][name] for name in builds if name in record["instructions"]), None)
        row = _row(record, target, instructions) if instructions is not None else None
        if row is not None:
            yield row


def _row(record: Mapping[str, Any], target: Target, instructions: float) -> LaterRow | None:
    call = call_of({name: value for name, value in record.items() if name not in ("part", "instructions")})
    taken = route(call, target)
    kernel = taken.effective
    if kernel in KERNELS:
        ends = ends_of(call, target, taken, measured_compilers(target)[0])
        if ends is None or not record.keys() & {"level", "shift"} or "spread" in record:
            return None
        least = record["level"] == LEAST if "level" in record else record["shift"] > 0
        end, word = (0, "least") if least else (1, "most")
        return LaterRow(f"{kernel}, {word}", call.entry, call, ends[end], instructions, record["part"])
    counts = counts_of(call, target, taken)
    if call.entry == "transpose_conv_s8" and kernel == "arm_convolve_s8":
        kernel += ", reversed weights"
    if not call.bias and kernel not in WITHOUT_BIAS:
        return None
    if not call.bias:
        kernel += ", no bias"
    elif call.entry == "convolve_s8":
        kernel += f", {'under' if _narrow(call) else 'from'} 4 columns"
    return LaterRow(kernel, call.entry, call, counts, instructions, record["part"]) if counts else None


def _narrow(call: KernelCall) -> bool:
    sizes = call.filter_dims.h, call.filter_dims.w, call.input_dims.c
    return int(np.prod([size or 0 for size in sizes])) < 4


def fit_later(rows: Iterable[LaterRow], known: Mapping[str, float]) -> dict[str, float]:
    """Instructions of one turn of every new piece in the rows."""
    rows = [row for row in rows if row.part == FIT]
    table: dict[str, float] = {}
    for family in sorted({row.family for row in rows}):
        members = [row for row in rows if row.family == family]
        names = sorted({name for row in members for name, times in row.counts.items() if times and name not in known})
        counts = np.array([[row.counts.get(name, 0) for name in names] for row in members], dtype=np.float64)
        whole = np.array([row.instructions for row in members])
        left = whole - [sum(times * known.get(name, 0) for name, times in row.counts.items()) for row in members]
        if names:
            signed = [column for column, name in enumerate(names) if WORD in name]
            columns = np.hstack([counts, -counts[:, signed]]) / whole[:, None]
            solved = non_negative(columns, left / whole)
            values = solved[: len(names)]
            values[signed] -= solved[len(names) :]
            table |= {name: round(float(value), DIGITS) for name, value in zip(names, values, strict=True)}
    return table


def later_errors(rows: Iterable[LaterRow], table: Mapping[str, float]) -> dict[str, list[float]]:
    """Absolute errors, in percent, of the rows held apart whose pieces the table has, by kernel."""
    errors: dict[str, list[float]] = {}
    for row in rows:
        pieces = {name: times for name, times in row.counts.items() if times}
        if row.part == APART and pieces.keys() <= table.keys():
            total = sum(times * table[name] for name, times in pieces.items())
            errors.setdefault(row.kernel, []).append(abs(total / row.instructions - 1) * 100)
    return dict(sorted(errors.items()))


def later_costs(target: Target, known: Mapping[str, float]) -> dict[str, object]:
    """The later part of a file: rows fitted, errors of the rows held apart, instructions."""
    rows = list(later_rows(target))
    table = fit_later(rows, known)
    errors = later_errors(rows, {**known, **table})
    unfit = {kernel for kernel, error in errors.items() if np.percentile(error, 95) > MOST_ERROR}
    kept = {name for row in rows if row.kernel not in unfit for name, times in row.counts.items() if times}
    rows, table = [row for row in rows if row.kernel not in unfit], {name: table[name] for name in table.keys() & kept}
    return {
        "rows": sum(row.part == FIT for row in rows),
        "apart_error_percent": published(rows, {**known, **table}),
        "instructions": dict(sorted(table.items())),
    }


def _told(error: list[float]) -> dict[str, float]:
    """Errors in the form of the file."""
    return {
        "rows": len(error),
        "median": round(float(np.median(error)), DIGITS),
        "p95": round(float(np.percentile(error, 95)), DIGITS),
        "max": round(max(error), DIGITS),
    }


def published(rows: Iterable[LaterRow], table: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Errors of the rows held apart, by kernel."""
    return {kernel: _told(error) for kernel, error in later_errors(rows, table).items()}


def update_later(file: Path, *, check: bool) -> bool:
    """Fit the later measurements of one build again. Returns whether its file changed; one of floats alone has none."""
    data = read_costs(file)
    if "instructions" not in data:
        return False
    target = parse_target(data["cpu"], data["release"], data["compiler"].replace(" ", "@"))
    old, fresh = data.get("later", {}), later_costs(target, data["instructions"])
    if not check:
        write_costs(file, {**data, "later": fresh})
    return differs(old, fresh)


def differs(old: Mapping[str, Any], fresh: Mapping[str, Any]) -> bool:
    """Tell whether two fits differ in rows or pieces, or in errors by more than machines do."""
    if old.get("rows") != fresh["rows"] or set(old["instructions"]) != set(fresh["instructions"]):
        return True
    before, after = old["apart_error_percent"], fresh["apart_error_percent"]
    return before.keys() != after.keys() or any(
        abs(before[kernel][name] - after[kernel][name]) > 100 * TOLERANCE
        for kernel in before
        for name in before[kernel]
    )
