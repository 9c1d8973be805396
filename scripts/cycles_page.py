"""The pages of predicted time: what a number rests on, and all public measurements beside their predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any

from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.images.placement import VENDOR_MEMORIES
from onnxlint_cmsis.timing.cores import CORES, ERROR_OF_OTHERS, OTHER, Core
from onnxlint_cmsis.timing.device import OVERHEADS
from onnxlint_cmsis.timing.fetches import CODE
from onnxlint_cmsis.timing.fit import ERROR_OF_TOTAL
from onnxlint_cmsis.timing.memories import MEMORIES
from onnxlint_cmsis.timing.predicted_time import ONE_NUMBER

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"

HEAD = """# How long will it take?

Name the clock, and where weights and activations lie:

```sh
onnxlint-cmsis layers model.tflite --target cortex-m55 --clock 250MHz --weights-in mram --arena-in tcm
onnxlint-cmsis model.tflite --board nucleo-l4r5zi
```

You get the time of one run, with its error, and that of each layer: `51 ms ± 12 %`. Where the error is above
{number} %, or a memory is not known, it is a range, and the text says which setting narrows it. Where nothing is known
there is no time, and the text says why.

| you know | you get |
|---|---|
| clock | a range over the memories that the CPU is usually built with |
| clock and both memories or a [board](config.md#which-boards-are-known) | a number with its error or a narrower range |
| [one measurement](#how-do-i-calibrate-it-with-my-own-board) | the same for every other model on your board |

`--weights-in` and `--arena-in` take `tcm`, `sram`, `flash`, `mram`, `xip`, or the cycles of a line of 32 bytes.
{firmware}

* Linting, `layers`, `report` and `compare` show the time of the model and of each layer; JSON and SARIF have both as
  `time`. `layers` and `report` also say what takes it: `63 % CMSIS-NN, 31 % reading weights from mram, 6 % the runtime;
  --weights-in tcm would save about 16 ms`. From a quarter on, what is no kernel is the note
  [CNN606](rules/CNN606.md).
* `widths` shows for each channel count the change in instructions and in milliseconds.
* `--fix` takes no size that saves instructions and takes more predicted cycles. Where the memory of weights is not
  known, more outputs of dense layers on CPUs with MVE have to save a tenth of their instructions.

## What does a number rest on?

Nothing was measured on silicon here: all figures are fitted to public measurements. Cycles are a sum, over all layers
of a model, of

* the [predicted instructions](cost.md) x the factor of the kernel on that CPU,
* lines of weights x cycles of a line where the weights lie,
* on Cortex-M4 lines of code x cycles of a line of flash: a pixel of a convolution fetches {conv_code:.0f} and one of a
  depthwise layer {depthwise_code:.0f} ([lines of code](#which-code-does-a-small-cache-fetch-again)). A
  [board](config.md#which-boards-are-known) says how large its cache for code is; elsewhere the range spans a cache
  that holds the code and one of 1 KiB,
* lines of activations x cycles of a line where the arena lies,
* what the runtime does for each operator and each run: TensorFlow Lite Micro {operator} and {run} cycles.

Cycles for each instruction hardly depend on a layer's shape, so that a few factors do for a CPU:

| CPU | {kinds} | error |
|---|{rule}---|
"""

MEMORY_HEAD = """
{errors}

A line of 32 bytes that no cache holds takes:

| CPU | memory | nanoseconds | from |
|---|---|---|---|
"""

TAIL = """
Tightly coupled memory costs nothing, and so does SRAM on Cortex-M0+, M4 and M33. Another memory has no figure for that
CPU: there is no time then, and the reason says so.

## How well does it hold?

Of {rows} public measurements {predicted} can be predicted, and {held} of these lie within their range. [All
measurements](silicon.md) has each row with its prediction, or why there is none.

| CPU | rows | within the range | half the range, in the median | worst |
|---|---|---|---|---|
{by_cpu}
Many of these rows took part in setting the figures, so that the table shows how well they fit, and is no test. The
factors of Cortex-M4 come from its table of cycles and the nets of MLPerf Tiny; of the {cube} rows of
[Black3rror/Benchmarking](https://github.com/Black3rror/Benchmarking) only the smallest nets took part, and {cube_held}
lie within. The factors of Cortex-M55 are Apollo510's; its SRAM was set with Alif E8's layers. Of
[MicroAI_Benchmark](https://github.com/DivinityQQ/MicroAI_Benchmark), 5 boards with {micro} rows, the {untouched} of
Arduino Nano 33 BLE and NUCLEO-L552ZE-Q took no part in any figure, and {untouched_held} lie within.

**A board that took no part.** Here one board is left out and the factors are scaled to the other boards of its CPU, by
the median of rows of which instructions take three quarters of the time or more; proportions, errors and memories are
those of the tables. The least error is that with which nine in ten of the rows lie within:

| CPU | board left out | rows | within the range | half the range, in the median |
|---|---|---|---|---|
{left_out}
| CPU | left out | rows | within the range | least error |
|---|---|---|---|---|
{kinds_left_out}
{left_says}
"""

LEFT_OUT = (
    "{held} of {rows} rows of boards left out lie within: {cpus}. The errors are above the least one of a board or a "
    "runtime left out, by 1 to 6 %, as boards are few. {alone} has rows of one board alone, so that nothing tests its "
    "factors on another. The nets of MicroAI_Benchmark took part in no factor, but that of Cortex-M7 lies between its "
    "two boards and the time of a line of XIP was set with them. Boards with RP2040 have one chip, and those "
    "with RP2350 have one. Three nets of one build on RP2350 take 1.8 to 6 times what two other builds take there: a "
    "line of XIP spans that of the dense net, which takes 1.8 times, and no figure here explains the others. A build "
    "sets the clock and the mode of the flash, and no image tells these. One measurement on your own board is worth "
    "more than any figure here."
)
"""What the boards left out say."""

END = """
## How do I calibrate it with my own board?

It takes one model and five minutes:

1. Run a model on the board with a profiler. `--measured` takes what TensorFlow Lite Micro's profiler, ExecuTorch's
   Inspector, heliaPROFILER and ST Edge AI print, in cycles or milliseconds. Times of layers say more than a total.
2. Fit it, with the clock of the board:

   ```sh
   onnxlint-cmsis layers kws.tflite --target cortex-m55 --clock 250MHz --measured log.csv --write-timing board.json
   ```

3. Use the file for every other model on that board:

   ```sh
   onnxlint-cmsis other.tflite --target cortex-m55 --clock 250MHz --timing board.json
   ```

Four numbers are fitted to the layers: a scale, the cycles of a line of weights and of activations, and those of an
operator. A number that the layers cannot tell is that of the tables: name `--weights-in` and `--arena-in` then. The
error is that of nine in ten of the layers. A log of totals alone gives the scale, with an error of {total} %.

With another log of the same board the text says whether it agrees: `net.tflite, log.csv says 320 ms for what the log
measured as 481 ms: -33 %, more than the ±5 % that it promised`. The two are then of different builds, boards or
memories.

How well one net says the others of its board, by the public measurements; each net is asked once for every other:

| CPU | board and build | asked | within the promise | off in the median | off in nine of ten |
|---|---|---|---|---|---|
{calibrated}
## Which code does a small cache fetch again?

Lines of 32 bytes for each output pixel on Cortex-M4, counted with CMSIS-NN 7.0.0 (gcc 12.2, -O3) under QEMU through
caches that lose what was used longest ago (`python lab/measure_code_lines.py CMSIS_NN`):

| kernel | shapes | 1 KiB | 2 KiB | 4 KiB |
|---|---|---|---|---|
{code_lines}
STM32's F4 and L4 have 1 KiB. The code is a little longer than that, so that its length decides: other releases and
clang 19 take 20 to 35 lines for convolutions and 4 to 60 for depthwise layers of 8 channels, and 5.0.0's 3x3 takes 5
more for each channel. Kernels of 1x1 take 17 for each output channel of a call, which is for a layer or, with a stride,
for a row of it: one with a stride and 64 channels would take 22 to 89 % longer. Convolutions of s4 take 12 for each
channel and pixel pair. No time here counts these.

## What does it not cover?

* Compilers and options: the error is that of builds with gcc 8 to 15, LLVM, armclang and ATfE, around the number of the
  first compiler that `layers` covers. -Os takes 1.1 to 1.9 times on Cortex-M0+, M4 and M33 and 1.0 to 2 times on
  Cortex-M7. Wait states, interrupts, and code that runs from a slow memory are in no factor.
* Firmware moves more than any of this explains: the same chip, clock and nets take 5 to 28 % longer in one build than
  in another. Below ±15 % only a measurement on your own firmware helps.
* Layers of unknown time are left out: "predicted at least", with their number.
* Other CPUs, and builds with `+nodsp` or `+nomve`, have no time. No source gives energy.
"""

ERRORS = (
    "The errors of {tested} hold for nine in ten rows of a board that took no part (below). {alone} has one board "
    "alone, whose rows took part: they lie off by up to {most}, and the error is above that by choice. It is at least "
    "{others} % for sums, products, softmax, reference code and s4. None of the measurements is of CMSIS-NN's float "
    "kernels, so that these have no time."
)
"""Where the errors of the table come from."""

FIRMWARE = (
    "`--firmware app.elf` tells both where the addresses of model and arena are one memory on every device that has "
    "them, on {devices}, and where a region of the map file is called DTCM or MRAM."
)
"""What an image says of memory."""

ROWS_HEAD = """# All measurements

Public measurements of models and layers on silicon, and the time that is predicted for the same model, board and clock.
`python lab/silicon_times.py FOLDER` makes the predictions anew. [How long will it take?](cycles.md) says what they rest
on. Times are milliseconds; the last column is the measurement against the middle of the range, or why there is no
prediction. A row outside of its range is marked with !.

| source | CPU, board, MHz | build | model or layer | weights, arena | measured | predicted | |
|---|---|---|---|---|---|---|---|
"""


def records(name: str) -> list[dict[str, Any]]:
    """Rows of a file of tests/data that a program of lab/ makes."""
    rows: list[dict[str, Any]] = json.loads((DATA / name).read_text())
    return rows


def measurements() -> list[dict[str, Any]]:
    """All rows, in the order of the table of sources."""
    return records("silicon_times.json")


def held(row: dict[str, Any]) -> bool:
    """Tell whether a predicted range holds the measurement."""
    low, high = row["predicted_ms"]
    return bool(low <= row["measured_ms"] <= high)


def off(row: dict[str, Any]) -> float:
    """The measurement against the middle of the range, as a part of it."""
    low, high = row["predicted_ms"]
    return float(2 * row["measured_ms"] / (low + high) - 1)


def cycles_page() -> str:
    """The page on predicted time."""
    kinds = [*dict.fromkeys(kind for core in CORES for kind in core.factors if kind != OTHER), OTHER]
    overhead = OVERHEADS["tflm"]
    head = HEAD.format(
        number=round(100 * ONE_NUMBER),
        operator=f"{overhead.operator[0]:,} to {overhead.operator[1]:,}",
        run=f"{overhead.run[0]:,} to {overhead.run[1]:,}",
        kinds=" | ".join(kinds),
        rule="---|" * len(kinds),
        conv_code=CODE[Function.CONVOLVE],
        depthwise_code=CODE[Function.DEPTHWISE],
        firmware=fill(FIRMWARE.format(devices=_devices()), 120, break_long_words=False, break_on_hyphens=False),
    )
    factors = "".join(_factors(core, kinds) for core in CORES)
    memories = "".join(
        f"| {row.cpu} | {row.name} | {row.least:,} to {row.most:,} | {row.source} |\n" for row in MEMORIES
    )
    rows = measurements()
    predicted = [row for row in rows if row["predicted_ms"]]
    cube = [row for row in predicted if "Black3rror" in row["source"]]
    left = records("left_out.json")
    micro = [row for row in predicted if "MicroAI" in row["source"]]
    untouched = [row for row in micro if row["board"].startswith(("Arduino Nano", "NUCLEO-L552"))]
    memory_head = MEMORY_HEAD.format(errors=fill(_errors(predicted, left), 120, break_on_hyphens=False))
    tail = TAIL.format(
        rows=len(rows),
        predicted=len(predicted),
        held=sum(map(held, predicted)),
        by_cpu="".join(_of_cpu(core.cpu, predicted) for core in CORES),
        micro=len(micro),
        untouched=len(untouched),
        untouched_held=sum(map(held, untouched)),
        cube=len(cube),
        cube_held=sum(map(held, cube)),
        left_out="".join(_left_out(record) for record in left if record["kind"] == "board"),
        kinds_left_out="".join(_kinds_left_out(left)),
        left_says=fill(_left_says(left), 120, break_long_words=False, break_on_hyphens=False),
    )
    end = END.format(
        total=round(100 * ERROR_OF_TOTAL), calibrated="".join(_calibrated()), code_lines="".join(_code_lines())
    )
    return f"{head}{factors}{memory_head}{memories}{tail}{end}"


def silicon_page() -> str:
    """The page with all measurements."""
    return ROWS_HEAD + "".join(map(_row, measurements()))


def _factors(core: Core, kinds: list[str]) -> str:
    numbers = " | ".join(f"{core.factors[kind]:.2f}" if kind in core.factors else "as other" for kind in kinds)
    return f"| {core.cpu} | {numbers} | ±{100 * core.error:.0f} % |\n"


def _devices() -> str:
    names = dict.fromkeys(name for row in VENDOR_MEMORIES for name in row.devices.split(", ") if name != "all")
    return ", ".join(names)


def _of_cpu(cpu: str, predicted: list[dict[str, Any]]) -> str:
    rows = [row for row in predicted if row["cpu"] == cpu]
    worst = max(rows, key=lambda row: abs(off(row)))
    width = median((high - low) / (high + low) for low, high in (row["predicted_ms"] for row in rows))
    last = f"{100 * off(worst):+.0f} %: {worst['what']}"
    return f"| {cpu} | {len(rows)} | {sum(map(held, rows))} | ±{100 * width:.0f} % | {last} |\n"


def _errors(predicted: list[dict[str, Any]], left: list[dict[str, Any]]) -> str:
    """ERRORS of all rows."""
    tested = {record["cpu"] for record in left if record["kind"] == "board"}
    most = {
        core.cpu: max(abs(off(row)) for row in predicted if row["cpu"] == core.cpu and row["measured_ms"] >= 1)
        for core in CORES
        if core.cpu not in tested
    }
    return ERRORS.format(
        tested=_cpus([core.cpu for core in CORES if core.cpu in tested]),
        alone=_cpus([*most]),
        most=" %, ".join(f"{100 * part:.0f}" for part in most.values()) + " %",
        others=round(100 * ERROR_OF_OTHERS),
    )


def _cpus(names: list[str]) -> str:
    """`Cortex-M7 and M85` of names of CPUs."""
    *first, last = (name.removeprefix("cortex-").upper() for name in names)
    return f"Cortex-{', '.join(first)} and {last}" if first else f"Cortex-{last}"


def _left_says(left: list[dict[str, Any]]) -> str:
    """LEFT_OUT of all records."""
    by_board = [record for record in left if record["kind"] == "board"]
    boards = {core.cpu: [record for record in by_board if record["cpu"] == core.cpu] for core in CORES}
    tested = {cpu.capitalize().replace("-m", "-M"): of_cpu for cpu, of_cpu in boards.items() if of_cpu}
    sums = {cpu: [sum(record[end] for record in of_cpu) for end in ("held", "rows")] for cpu, of_cpu in tested.items()}
    cpus = ", ".join(f"{held} of {rows} on {cpu}" for cpu, (held, rows) in sums.items())
    alone = _cpus([cpu for cpu, of_cpu in boards.items() if not of_cpu])
    held, rows = map(sum, zip(*sums.values(), strict=True))
    return LEFT_OUT.format(held=held, rows=rows, cpus=cpus, alone=alone)


def _left_out(record: dict[str, Any]) -> str:
    counts = f"{record['rows']} | {record['held']} | ±{100 * record['width']:.0f} %"
    return f"| {record['cpu']} | {record['left']} | {counts} |\n"


def _kinds_left_out(left: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each CPU and each kind of thing left out."""
    for cpu, kind in dict.fromkeys((record["cpu"], record["kind"]) for record in left):
        of_kind = [record for record in left if (record["cpu"], record["kind"]) == (cpu, kind)]
        needed = sorted(number for record in of_kind for number in record["needed"])
        least, held = needed[ceil(0.9 * len(needed)) - 1], sum(record["held"] for record in of_kind)
        yield f"| {cpu} | one {kind} | {len(needed)} | {held} | ±{ceil(100 * least):.0f} % |\n"


def _calibrated() -> Iterator[str]:
    """A row for each board and build whose nets were asked for each other."""
    boards: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records("calibrated_times.json"):
        if "said_ms" in record:
            boards.setdefault((record["cpu"], f"{record['board']}, {record['built']}"), []).append(record)
    for (cpu, board), answers in boards.items():
        errors = [abs(record["said_ms"] / record["measured_ms"] - 1) for record in answers]
        kept = sum(error <= record["promised"] for error, record in zip(errors, answers, strict=True))
        most = sorted(errors)[ceil(0.9 * len(errors)) - 1]
        yield f"| {cpu} | {board} | {len(answers)} | {kept} | {100 * median(errors):.0f} % | {100 * most:.0f} % |\n"


def _code_lines() -> Iterator[str]:
    """A row for each kernel of which lines of code were counted."""
    kernels: dict[str, list[dict[str, Any]]] = {}
    for record in records("code_lines.json"):
        kernels.setdefault(record["kernel"], []).append(record)
    for kernel, shapes in kernels.items():
        pixels = [record["output"][0] * record["output"][1] for record in shapes]
        columns = []
        for size in ("1", "2", "4"):
            lines = [record["lines"][size] / count for record, count in zip(shapes, pixels, strict=True)]
            ends = [f"{number:.1f}" if number < 10 else f"{number:.0f}" for number in (min(lines), max(lines))]
            columns.append(" to ".join(dict.fromkeys(ends)))
        yield f"| {kernel} | {len(shapes)} | {' | '.join(columns)} |\n"


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
