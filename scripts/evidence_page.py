"""The page of evidence: what emulated devices showed of every hazard and every branch, from recorded runs."""

from __future__ import annotations

from itertools import groupby

from onnxlint_cmsis.cmsis_nn.library import all_hazards, hazards
from onnxlint_cmsis.cmsis_nn.releases import FLOAT, INTEGER, LEGACY, RELEASES, family_of
from onnxlint_cmsis.cmsis_nn.route import CONFIRMED, Recorded, recorded
from onnxlint_cmsis.cmsis_nn.rows import Hazard
from onnxlint_cmsis.ground.types import Isa

HEAD = """# How is it known?

Each hazard and each choice of a kernel is read in CMSIS-NN's source, and run on emulated Cortex-M3, M4 and M55.
Messages say which of the two holds. This page has what was seen; [cost](cost.md) says how instructions are predicted,
and [time](cycles.md) how they become milliseconds. [What runs as firmware](firmware.md) is compared with each
prediction.

`python -m firmware_check hazards --cmsis-nn DIR` runs the smallest call that meets each hazard of a release, and for
each branch of a wrapper a call that takes it and calls that each part of its condition keeps out. A trace tells which
functions ran; NumPy tells which values are right. `python -m firmware_check sources --cmsis-nn DIR` compares the
checkout with every line that is cited. Both run weekly against main. [observations.json][observations] has the calls
and what each did.

A hazard counts as seen where each compiler that ran shows it. clang gets C code where gcc compiles CMSIS-NN's inline
assembly. Of CMSIS 5 the functions for q7 and q15 are run, where every bit has to be right; those for s8 and s16 are
read.

[observations]: https://github.com/onnxlint-cmsis/onnxlint-cmsis/blob/main/onnxlint_cmsis/cmsis_nn/observations.json

## What was run

"""

MODELS = """
## What does it say of the MLPerf Tiny references?

The four int8 models of [mlcommons/tiny](https://github.com/mlcommons/tiny/tree/master/benchmark/training), judged as
TensorFlow Lite Micro 90b983c2 runs them, and run as firmware on Cortex-M4 with CMSIS-NN 7.0.0 and gcc 12.2:

```sh
onnxlint-cmsis --isolated --target cortex-m4,cortex-m55 --min-level note MODEL.tflite
python -m firmware_check --target cortex-m4 --cmsis-nn DIR MODEL.tflite
```

| model | layers, all in CMSIS-NN | instructions, predicted | measured | arena | outputs unlike LiteRT's | findings |
|---|---|---|---|---|---|---|
| keyword spotting | 12 | 7,680,111 | 7,683,000 | 22,820 | 0 of 48 | none |
| visual wake words | 30 | 24,209,947 | 24,223,600 | 100,708 | 0 of 8 | CNN202: nine groups of channels do nothing |
| image classification | 15 | 29,715,539 | 29,725,120 | 54,996 | 0 of 40 | CNN102, a note |
| anomaly detection | 10 | 578,409 | 579,640 | 2,580 | 641 of 2,560, by up to 2 | none |

The arenas are those that TensorFlow Lite Micro reported, to the byte; the fourth needs 3,016 bytes while it plans. In
that model no layer differs by more than 1 for the same input, and such differences add up over ten layers.
[Fixing](fixing.md#what-does-a-fix-give) takes out what does nothing.
"""

_CPU = {Isa.SCALAR: "cortex-m3", Isa.DSP: "cortex-m4", Isa.MVE: "cortex-m55"}
_SHOWN = {
    "## Which hazards were seen?": tuple(name for name in RELEASES if not name.startswith("cmsis5")),
    "## Which hazards of the legacy API?": LEGACY.releases,
}


FLOAT_HEAD = """
## Which hazards of the functions for f32 and f16?

The commands above do not run these functions. Other firmware called each with 16,000 random shapes on emulated boards,
built from main with gcc 12.2; `tests/cmsis_nn/test_float_vectors.py` holds the rows against 2,982 of these calls.

"""


def evidence_page() -> str:
    """The whole page."""
    runs = recorded()
    parts = [HEAD, "| release | compilers | hazards seen | calls of branches as predicted |\n|---|---|---|---|\n"]
    parts += [_runs(release, [run for run in runs if run.release == release]) for release in _in_order(runs)]
    for heading, releases in _SHOWN.items():
        parts += _hazards(heading, releases, runs)
    seen = "".join(f"* {row.id}: {', '.join(row.seen) or 'read in the source'}\n" for row in hazards(FLOAT))
    return "".join((*parts, FLOAT_HEAD, seen, MODELS))


def _in_order(runs: tuple[Recorded, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.release for run in runs))


def _hazards(heading: str, releases: tuple[str, ...], runs: tuple[Recorded, ...]) -> list[str]:
    """The list of an API: CPUs and releases that show each hazard, and below it why others do not."""
    legacy = releases == LEGACY.releases
    parts = [f"\n{heading}\n\nCPUs and releases of those above that show it:\n\n"]
    reasons: dict[str, None] = {}
    for row in all_hazards():
        if family_of(row.entries[0]) is (LEGACY if legacy else INTEGER):
            parts += _hazard(row, releases, runs, reasons)
    if not legacy:
        rows = [row for row in all_hazards() if family_of(row.entries[0]) is INTEGER]
        old = sum(not any(map(row.origin.spans, releases)) for row in rows)
        reasons[f"{old} hazards that releases inside CMSIS 5 alone have: read in the source"] = None
    return parts + (["\nWhat was not seen:\n\n", *(f"* {reason}\n" for reason in reasons)] if reasons else [])


def _runs(release: str, runs: list[Recorded]) -> str:
    """The row of a release, all its CPUs and compilers together."""
    seen = sum(row.outcome == CONFIRMED for run in runs for row in run.hazards)
    hazards = sum(len(run.hazards) for run in runs)
    calls = sum(branch.inside + branch.outside for run in runs for branch in run.branches)
    right = calls - sum(len(branch.unlike) for run in runs for branch in run.branches)
    compilers = ", ".join(dict.fromkeys(run.compiler for run in runs))
    return f"| {release} | {compilers} | {seen} of {hazards} | {right} of {calls} |\n"


def _hazard(row: Hazard, releases: tuple[str, ...], runs: tuple[Recorded, ...], reasons: dict[str, None]) -> list[str]:
    """A line where a release that is run has the hazard: CPUs with the same cells together."""
    cpus: dict[str, list[str]] = {}
    for isa in row.origin.isas:
        cells = [_cell(row, isa, release, runs, reasons) for release in releases]
        if set(cells) != {"-"}:
            cpus.setdefault(_spans(releases, cells), []).append(_CPU[isa].removeprefix("cortex-"))
    where = "; ".join(f"{', '.join(names)} {spans}" for spans, names in cpus.items())
    return [f"* {row.id}: {where}\n"] if where else []


def _spans(releases: tuple[str, ...], cells: list[str]) -> str:
    """`4.0.0 to main`, `4.0.0 with gcc, 5.0.0`: neighbours that say the same together."""
    parts = []
    for said, group in groupby(zip(releases, cells, strict=True), key=lambda pair: pair[1]):
        names = [release for release, _ in group]
        if said != "-":
            span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            parts.append(f"{span}{said.removeprefix('+')}" if said.startswith("+") else f"{span} {said}")
    return ", ".join(parts)


def _cell(row: Hazard, isa: Isa, release: str, runs: tuple[Recorded, ...], reasons: dict[str, None]) -> str:
    if not row.origin.spans(release):
        return "-"
    here = [run for run in runs if (run.release, run.cpu) == (release, _CPU[isa])]
    outcomes = {run.compiler.split()[0]: hazard for run in here for hazard in run.hazards if hazard.hazard == row.id}
    seen = [name for name, hazard in outcomes.items() if hazard.outcome == CONFIRMED]
    for name, hazard in outcomes.items():
        if hazard.outcome != CONFIRMED:
            reasons[f"{row.id}: {f'{name}: ' if seen else ''}{hazard.outcome}: {hazard.seen}"] = None
    if seen:
        return "+" if len(seen) == len(outcomes) else f"+ with {', '.join(seen)}"
    if outcomes:
        return next(iter(outcomes.values())).outcome
    reasons[f"{row.id}: not run on {_CPU[isa]} with {release}"] = None
    return "not run"
