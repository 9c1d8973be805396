"""The pages of predicted time: what a number rests on, and all public measurements beside their predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onnxlint_cmsis.timing.cores import CORES, ERROR_OF_OTHERS, OTHER, Core
from onnxlint_cmsis.timing.device import OVERHEADS
from onnxlint_cmsis.timing.fit import ERROR_OF_TOTAL
from onnxlint_cmsis.timing.memories import MEMORIES
from onnxlint_cmsis.timing.predicted_time import ONE_NUMBER

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "silicon_times.json"

HEAD = """# How long will it take?

`--clock 120MHz` adds a predicted time of one run to linting, `layers`, `compare`, `widths`, `report` and `scan`. It
needs to know where weights and activations lie:

```sh
onnxlint-cmsis model.tflite --target cortex-m55 --clock 250MHz --weights-in mram --arena-in tcm
onnxlint-cmsis model.tflite --board nucleo-l4r5zi
```

`--weights-in` and `--arena-in` take `tcm`, `sram`, `flash`, `mram`, `xip`, or the cycles of a line of 32 bytes. A board
of [`--board`](config.md#boards) brings its clock and both memories. Without them the range covers all that the CPU is
usually built with, and the text says so. Where both are known and the range is within {number} %, the time is one
number with its error, `51 ms ± 12 %`; otherwise it is a range. JSON and SARIF have it as `time`.

## What does a number rest on?

Nothing was measured on silicon here. Cycles are a sum, over all layers of a model, of

* the [predicted instructions](cost.md) x the factor of the kernel on that CPU,
* lines of weights x cycles of a line where the weights lie,
* lines of activations x cycles of a line where the arena lies,
* what the runtime does for each operator and each run: TensorFlow Lite Micro {operator} and {run} cycles.

Cycles for each instruction hardly depend on a layer's shape, so that a few factors do for a CPU:

| CPU | {kinds} | error |
|---|{rule}---|
"""

MEMORY_HEAD = """
The error is that of measured layers; for sums, products, softmax and reference code it is at least {others} %.

A line of 32 bytes that no cache holds takes:

| CPU | memory | nanoseconds | from |
|---|---|---|---|
"""

TAIL = """
Tightly coupled memory costs nothing, and so does SRAM on Cortex-M0+, M4 and M33. Another memory has no figure for that
CPU: there is no time then, and the reason says so.

## How well does it hold?

Of {rows} public measurements {predicted} can be predicted, and {held} of these lie within their range. The factors of
Cortex-M4 come from its table of cycles and the nets of MLPerf Tiny. Of the {cube} rows of
[Black3rror/Benchmarking](https://github.com/Black3rror/Benchmarking) only the smallest nets took part, for what the
runtime costs; {cube_held} of them lie within. Those of Cortex-M55 are Apollo510's; its SRAM was set with Alif E8's
layers. The factors of Cortex-M0+, M7, M33 and M85 were set with the rows that
the table has: for these it shows how well they fit, and is no test. [All measurements](silicon.md) has each row with
its prediction, or why there is none.

| CPU | rows | within the range | worst |
|---|---|---|---|
"""

END = """
## How do I calibrate it with my own board?

Log one model with a profiler, in cycles or milliseconds, and fit what it says. The file then serves every other model
on that board:

```sh
onnxlint-cmsis layers kws.tflite --target cortex-m55 --clock 250MHz --measured log.csv --write-timing board.json
onnxlint-cmsis other.tflite --target cortex-m55 --clock 250MHz --config timing=board.json
```

Four numbers are fitted to the layers: a scale, the cycles of a line of weights and of activations, and those of an
operator. The error is that of nine in ten of the layers. A log of totals alone gives the scale, with an error of
{total} %: on seven boards of the table nine in ten nets lie within it where another net gave the scale. `--measured`
takes what TensorFlow Lite Micro's profiler, ExecuTorch's Inspector, heliaPROFILER and ST Edge AI print.

## What does it not cover?

* Other compilers and options: -Os takes 1.3 to 1.6 times on Cortex-M4. Wait states, interrupts, and code that runs from
  a slow memory are in no factor.
* Firmware moves more than any of this explains: the same chip, clock and nets take 5 to 28 % longer in one build than
  in another. Below ±15 % only a measurement on your own firmware helps.
* Layers of unknown cost are left out: "predicted at least", with their number.
* Other CPUs, and builds with `+nodsp` or `+nomve`, have no time.
"""

ROWS_HEAD = """# All measurements

Public measurements of models and layers on silicon, and the time that is predicted for the same model, board and clock.
`python lab/silicon_times.py FOLDER` makes the predictions anew. [How long will it take?](cycles.md) says what they rest
on. Times are milliseconds; the last column is the measurement against the middle of the range, or why there is no
prediction. A row outside of its range is marked with !.

| source | CPU, board, MHz | build | model or layer | weights, arena | measured | predicted | |
|---|---|---|---|---|---|---|---|
"""


def measurements() -> list[dict[str, Any]]:
    """All rows, in the order of the table of sources."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text())
    return rows


def held(row: dict[str, Any]) -> bool:
    """Whether a predicted range holds the measurement."""
    low, high = row["predicted_ms"]
    return bool(low <= row["measured_ms"] <= high)


def off(row: dict[str, Any]) -> float:
    """The measurement against the middle of the range, as a part of it."""
    low, high = row["predicted_ms"]
    return float(2 * row["measured_ms"] / (low + high) - 1)


def cycles_page() -> str:
    """The page on predicted time."""
    kinds = [kind for kind in CORES[0].factors if kind != OTHER]
    kinds = [*dict.fromkeys([*CORES[1].factors, *kinds])]
    overhead = OVERHEADS["tflm"]
    head = HEAD.format(
        number=round(100 * ONE_NUMBER),
        operator=f"{overhead.operator[0]:,} to {overhead.operator[1]:,}",
        run=f"{overhead.run[0]:,} to {overhead.run[1]:,}",
        kinds=" | ".join(kinds),
        rule="---|" * len(kinds),
    )
    factors = "".join(map(_factors, CORES))
    memory_head = MEMORY_HEAD.format(others=round(100 * ERROR_OF_OTHERS))
    memories = "".join(
        f"| {row.cpu} | {row.name} | {row.least:,} to {row.most:,} | {row.source} |\n" for row in MEMORIES
    )
    rows = measurements()
    predicted = [row for row in rows if row["predicted_ms"]]
    cube = [row for row in predicted if "Black3rror" in row["source"]]
    tail = TAIL.format(
        rows=len(rows),
        predicted=len(predicted),
        held=sum(map(held, predicted)),
        cube=len(cube),
        cube_held=sum(map(held, cube)),
    )
    by_cpu = "".join(_of_cpu(core.cpu, predicted) for core in CORES)
    return f"{head}{factors}{memory_head}{memories}{tail}{by_cpu}{END.format(total=round(100 * ERROR_OF_TOTAL))}"


def silicon_page() -> str:
    """The page with all measurements."""
    return ROWS_HEAD + "".join(map(_row, measurements()))


def _factors(core: Core) -> str:
    numbers = " | ".join(f"{factor:.2f}" for factor in core.factors.values())
    return f"| {core.cpu} | {numbers} | ±{100 * core.error:.0f} % |\n"


def _of_cpu(cpu: str, predicted: list[dict[str, Any]]) -> str:
    rows = [row for row in predicted if row["cpu"] == cpu]
    worst = max(rows, key=lambda row: abs(off(row)))
    return f"| {cpu} | {len(rows)} | {sum(map(held, rows))} | {100 * off(worst):+.0f} %: {worst['what']} |\n"


def _row(row: dict[str, Any]) -> str:
    where = f"{row['cpu']}, {row['board']}, {row['clock_hz'] / 1e6:g}"
    memory = f"{row['weights']}, {row['arena']}"
    if row["predicted_ms"]:
        low, high = row["predicted_ms"]
        last = f"{low:,.4g} to {high:,.4g} | {100 * off(row):+.0f} %{'' if held(row) else ' !'}"
    else:
        last = f"- | {row['reason']}"
    what = row["what"].replace("|", "/")
    return f"| {row['source']} | {where} | {row['built']} | {what} | {memory} | {row['measured_ms']:,.4g} | {last} |\n"
