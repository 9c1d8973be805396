"""The page of evidence: what emulated devices showed of every hazard and every branch, from recorded runs."""

from __future__ import annotations

from nets_table import nets_table
from onnxlint_cmsis.cmsis_nn.apis import INTEGER, api_of
from onnxlint_cmsis.cmsis_nn.evidence import CONFIRMED, Recorded, recorded
from onnxlint_cmsis.cmsis_nn.library import all_hazards

HEAD = """# How is it known?

Each hazard and each choice of a kernel is read in CMSIS-NN's source and run on emulated Cortex-M3, M4 and M55.
`--explain` says of each finding which of the two holds, and on which CPU and release it was seen (`known`).
[observations.json][observations] has every call and what it did.

* `python -m firmware_check hazards --cmsis-nn DIR` runs the smallest call that meets each hazard, and calls on both
  sides of each branch of a wrapper, with a trace of functions and values of NumPy.
* `python -m firmware_check sources --cmsis-nn DIR` compares every cited line. Both run every night against main.

A hazard counts as seen where each compiler that ran shows it. clang gets C code where gcc compiles inline assembly.
Of CMSIS 5 the functions for q7 and q15 are run, and those for s8 and s16 are read.

[observations]: https://github.com/onnxlint-cmsis/onnxlint-cmsis/blob/main/onnxlint_cmsis/cmsis_nn/observations.json

For each release: hazards reproduced, of all known; calls that took the predicted branch, of all run:
"""

MODELS = """
## What does it say of the MLPerf Tiny references?

The int8 models of [mlcommons/tiny](https://github.com/mlcommons/tiny/tree/master/benchmark/training), judged for
TensorFlow Lite Micro 90b983c2, and run on Cortex-M4 with CMSIS-NN 7.0.0 and gcc 12.2. All layers run in CMSIS-NN, and
the arenas are right to the byte:

| model | layers | instructions predicted | measured | arena | outputs unlike LiteRT's | findings |
|---|---|---|---|---|---|---|
| keyword spotting | 12 | 7,680,111 | 7,683,000 | 22,820 | 0 of 48 | none |
| visual wake words | 30 | 24,209,947 | 24,223,600 | 100,708 | 0 of 8 | CNN202 |
| image classification | 15 | 29,715,539 | 29,725,120 | 54,996 | 0 of 40 | CNN102 |
| anomaly detection | 10 | 578,409 | 579,640 | 2,580; 3,016 in planning | 641 of 2,560, by up to 2 | none |

In the last model no layer differs by more than 1 for the same input; ten layers add such differences up.

## What does it say of float models?

Judged with `--assume f32` and `f16`, and run on Cortex-M4 with main and gcc 12.2, and on Cortex-M55 with clang 19.1
where the board's flash holds them. The first four are the models above with their weights as floats. No layer differs
from double precision by more than its bound. Instructions are those on Cortex-M4 of layers that have a number, not a
range:

| model | layers | with a number | f32: predicted | measured | f16: predicted | measured |
|---|---|---|---|---|---|---|
| keyword spotting | 12 | 11 | 17,719,972 | 17,719,440 | 34,179,849 | 34,132,680 |
| visual wake words | 30 | 29 | 51,759,645 | 51,757,120 | 98,648,903 | 98,501,440 |
| image classification | 15 | 14 | 79,931,762 | 79,927,800 | 155,351,866 | 155,271,560 |
| anomaly detection | 10 | 10 | 1,617,869 | 1,617,920 | 3,215,598 | 3,213,720 |
| MNIST (CNTK) | 5 | 5 | 6,217,592 | 6,218,320 | 11,041,534 | 11,037,520 |
| YuNet, 64x64 | 71 | 65 | 38,659,777 | 38,658,560 | 73,074,071 | 72,932,960 |
| UltraFace RFB-320 | 60 | 59 | 699,498,194 | 699,476,400 | 1,333,400,400 | 1,331,855,880 |
| PP-OCRv4 detection, 64x64 | 135 | 132 | 149,088,148 | 148,972,200 | 286,206,469 | 285,958,360 |
| ESP-DL's streaming convolution | 16 | 13 | 897,935 | 898,120 | 1,568,580 | 1,567,080 |
| a U-Net, 48x48 | 18 | 15 | 62,810,764 | 62,819,880 | 108,571,060 | 108,585,720 |
"""

FLOATS = """
Main's numbers include functions for f32 and f16. gcc 12.2 does not link these for Cortex-M55, where those of clang are
run. Firmware also called each with 16,000 random shapes on emulated Cortex-M4 and M55;
`tests/cmsis_nn/test_float_vectors.py` holds the rows against 2,982 of these calls.
"""


def evidence_page() -> str:
    """The whole page."""
    runs = recorded()
    releases: dict[str, list[Recorded]] = {}
    for run in runs:
        releases.setdefault(run.release, []).append(run)
    rows: dict[str, list[str]] = {}
    for release, ran in releases.items():
        rows.setdefault(", ".join(dict.fromkeys(run.compiler for run in ran)), []).append(_runs(release, ran))
    seen = "".join(f"\nWith {compilers}:\n\n{''.join(lines)}" for compilers, lines in rows.items())
    return "".join((HEAD, seen, _unseen(runs), FLOATS, MODELS, nets_table()))


def _runs(release: str, runs: list[Recorded]) -> str:
    """The line of a release, all its CPUs and compilers together."""
    seen = sum(row.outcome == CONFIRMED for run in runs for row in run.hazards)
    hazards = sum(len(run.hazards) for run in runs)
    calls = sum(branch.inside + branch.outside for run in runs for branch in run.branches)
    right = calls - sum(len(branch.unlike) for run in runs for branch in run.branches)
    return f"* {release}: {seen}/{hazards}, {right}/{calls}\n"


def _unseen(runs: tuple[Recorded, ...]) -> str:
    """Hazards that some run does not show, by the reason, and those that no run of a release looked for."""
    seen = {row.hazard for run in runs for row in run.hazards if row.outcome == CONFIRMED}
    reasons: dict[str, dict[str, None]] = {}
    for run in runs:
        for row in run.hazards:
            if row.outcome != CONFIRMED:
                by = f" with {run.compiler.split()[0]}" if row.hazard in seen else ""
                reasons.setdefault(f"{row.outcome}: {row.seen}", {})[f"{row.hazard}{by}"] = None
    lines = "".join(f"* {', '.join(names)}: {reason}\n" for reason, names in reasons.items())
    rows = [row for row in all_hazards() if api_of(row.entries[0]) is INTEGER]
    asked = {row.hazard for run in runs for row in run.hazards}
    old = sum(row.id not in asked for row in rows)
    return f"\nWhat was not seen:\n\n{lines}* {old} hazards of s8 and s16 in CMSIS 5 alone: read in the source\n"
