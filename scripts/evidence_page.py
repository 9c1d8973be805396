"""The page of evidence: what emulated devices showed of every hazard and every branch, from recorded runs."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.library import all_hazards, hazards
from onnxlint_cmsis.cmsis_nn.releases import FLOAT, INTEGER, LEGACY, RELEASES, family_of
from onnxlint_cmsis.cmsis_nn.route import CONFIRMED, Recorded, recorded
from onnxlint_cmsis.cmsis_nn.rows import Hazard
from onnxlint_cmsis.ground.types import Isa

HEAD = """# Evidence

`python -m firmware_check hazards --cmsis-nn DIR` runs the smallest call that meets each hazard of a release, on
emulated boards. For each branch of a wrapper it runs a call that takes the branch, and a call for each part of the
branch's condition that keeps it out. A trace tells which functions ran; values are compared with NumPy.
`python -m firmware_check sources --cmsis-nn DIR` compares the checkout with every line that a row cites, and with the
kernels that wrappers call. Both run weekly against main. Messages say how a hazard is known by the results on this
page. [observations.json][observations] has them, with the calls and what each did.

Compilers are gcc and, with `--compiler clang`, clang. clang gets CMSIS-NN's C code where gcc compiles its inline
assembly. A hazard is seen in a release where each compiler that ran shows it.

Of the releases inside CMSIS 5 the functions for q7 and q15 are run ([legacy API](legacy.md)), where every bit has to
be right; their functions for s8 and s16 are read, not run.

[observations]: https://github.com/onnxlint-cmsis/onnxlint-cmsis/blob/main/onnxlint_cmsis/cmsis_nn/observations.json

"""

_CPU = {Isa.SCALAR: "cortex-m3", Isa.DSP: "cortex-m4", Isa.MVE: "cortex-m55"}
_SHOWN = {
    "## Hazards": tuple(name for name in RELEASES if not name.startswith("cmsis5")),
    "## Hazards of the legacy API": LEGACY.releases,
}


FLOAT_HEAD = """
## Hazards of the functions for f32 and f16

The commands above do not run these functions. Other firmware called each with 16,000 random shapes on emulated boards,
built from main with gcc 12.2; `tests/cmsis_nn/test_float_vectors.py` holds the rows against 2,982 of these calls.

| hazard | seen on |
|---|---|
"""


def evidence_page() -> str:
    """The whole page."""
    runs = recorded()
    parts = [HEAD, "## Runs\n\n| release | CPU | compiler | day | hazards seen | calls of branches as predicted |\n"]
    parts.append("|---|---|---|---|---|---|\n")
    parts += [_run(run) for run in runs]
    for heading, releases in _SHOWN.items():
        parts += _hazards(heading, releases, runs)
    parts.append(FLOAT_HEAD)
    parts += [f"| {row.id} | {', '.join(row.seen) or 'read in the source'} |\n" for row in hazards(FLOAT)]
    return "".join(parts)


def _hazards(heading: str, releases: tuple[str, ...], runs: tuple[Recorded, ...]) -> list[str]:
    """The table of an API, and the reasons below it."""
    legacy = releases == LEGACY.releases
    parts = [f"\n{heading}\n\n`+` seen; `-` the release or the CPU does not have it; else the reason below.\n\n"]
    parts.append(f"| hazard | CPU | {' | '.join(releases)} |\n|---|---|{'---|' * len(releases)}\n")
    reasons: dict[str, None] = {}
    for row in all_hazards():
        if family_of(row.entries[0]) is (LEGACY if legacy else INTEGER):
            parts += _hazard(row, releases, runs, reasons)
    if not legacy:
        rows = [row for row in all_hazards() if family_of(row.entries[0]) is INTEGER]
        old = sum(not any(map(row.origin.spans, releases)) for row in rows)
        reasons[f"{old} hazards that releases inside CMSIS 5 alone have: read in the source"] = None
    return parts + (["\n", *(f"* {reason}\n" for reason in reasons)] if reasons else [])


def _run(run: Recorded) -> str:
    seen = sum(row.outcome == CONFIRMED for row in run.hazards)
    calls = sum(branch.inside + branch.outside for branch in run.branches)
    right = calls - sum(len(branch.unlike) for branch in run.branches)
    counts = f"{seen} of {len(run.hazards)} | {right} of {calls}"
    return f"| {run.release} | {run.cpu} | {run.compiler} | {run.date} | {counts} |\n"


def _hazard(row: Hazard, releases: tuple[str, ...], runs: tuple[Recorded, ...], reasons: dict[str, None]) -> list[str]:
    """A line for each CPU that has the hazard in a release that is run."""
    lines = []
    for isa in row.origin.isas:
        cells = [_cell(row, isa, release, runs, reasons) for release in releases]
        if set(cells) != {"-"}:
            lines.append(f"| {row.id} | {_CPU[isa]} | {' | '.join(cells)} |\n")
    return lines


def _cell(row: Hazard, isa: Isa, release: str, runs: tuple[Recorded, ...], reasons: dict[str, None]) -> str:
    if not row.origin.spans(release):
        return "-"
    here = [run for run in runs if (run.release, run.cpu) == (release, _CPU[isa])]
    found = {run.compiler.split()[0]: each for run in here for each in run.hazards if each.hazard == row.id}
    seen = [name for name, each in found.items() if each.outcome == CONFIRMED]
    for name, each in found.items():
        if each.outcome != CONFIRMED:
            reasons[f"{row.id}: {f'{name}: ' if seen else ''}{each.outcome}: {each.seen}"] = None
    if seen:
        return "+" if len(seen) == len(found) else f"+ with {', '.join(seen)}"
    if found:
        return next(iter(found.values())).outcome
    reasons[f"{row.id}: not run on {_CPU[isa]} with {release}"] = None
    return "not run"
