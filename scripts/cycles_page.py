"""The page of predicted time: the rows of cycles per instruction, with the nets they were made from."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.time import ROWS, WIDEST, CycleRow

HEAD = """# From instructions to time

`--clock 120MHz` adds a predicted time of one run of the model to the line of linting, `layers`, `compare`, `widths`,
`report` and `scan`. The time is a range, with the source of its bounds. The setting `memory`, tcm or sram, says
where activations and weights lie; this matters on Cortex-M55.

```sh
onnxlint-cmsis layers model.onnx --target cortex-m4 --clock 120MHz
onnxlint-cmsis model.onnx --clock cortex-m4=120MHz --clock cortex-m55=160MHz --config memory=tcm
```

The range is the [predicted instructions](cost.md) times the cycles per instruction of a row below, divided by the
clock. JSON and SARIF have it as `time`, with `clock_hz`, `predicted_ms`, `cycles_per_instruction` and `source`. Where
there is no range, `reason` says why.

This project measured nothing on silicon. Public sources give cycles, or inferences per second at a clock. Each row
divides them by the instructions predicted for the same net or layer with CMSIS-NN 7.0.0 and gcc.

## Rows

"""

TAIL = """
## What the ranges do not cover

* Each range comes from the few nets in its table. No other net tested it. A net unlike them may lie outside.
* All nets are int8 with convolutions, depthwise and fully connected layers. A model of mostly pools and elementwise
  layers may lie outside: lines marked "not in the fit" show what the source says of these.
* The source for Apollo510 names neither padding nor placement. This page assumes padding to equal sizes, and data in
  TCM. Without padding the 3x3 convolution lies in the range too.
* Sources for Cortex-M4 and Cortex-M33 time the whole net as microTVM runs it, with an older CMSIS-NN. Another runtime,
  compiler, flash wait states or cache settings may take more or less time.
* Layers of unknown cost (reference code, and kernels that were not measured) are left out. The text then
  says "predicted at least", and how many layers are missing. Where no cost is known, there is no time.
* For other CPUs, and for builds with `+nodsp` or `+nomve`, there is no time: no public measurement was found.
"""


def cycles_page() -> str:
    """The whole page."""
    head = "| CPU | memory | cycles per instruction | spread | source |\n|---|---|---|---|---|\n"
    rows = "".join(_row(row) for row in ROWS)
    return f"{HEAD}{head}{rows}{_apart()}{''.join(_nets(row) for row in ROWS)}{TAIL}"


def _row(row: CycleRow) -> str:
    bounds, spread = f"{row.low:.2f} to {row.high:.2f}", f"±{100 * row.spread:.0f} %"
    return f"| {row.cpu} | {row.memory or 'as measured'} | {bounds} | {spread} | [{row.source}]({row.address}) |\n"


def _apart() -> str:
    """Which rows give no time, and what an unknown placement means."""
    wide = ", ".join(row.cpu for row in ROWS if row.spread > WIDEST)
    limit = f"A row with a spread above {100 * WIDEST:.0f} % gives no time: {wide}."
    return f"\n{limit} Where `memory` is not given, the range covers all rows of the CPU.\n"


def _nets(row: CycleRow) -> str:
    """The nets of a row."""
    title = f"{row.cpu}, {row.memory}" if row.memory else row.cpu
    head = "| net or layer | cycles measured | instructions predicted | cycles per instruction |\n|---|---|---|---|\n"
    named = [(net.name, net) for net in row.nets] + [(f"{net.name} (not in the fit)", net) for net in row.outside]
    lines = (f"| {name} | {net.cycles:,} | {net.instructions:,} | {net.ratio:.3f} |\n" for name, net in named)
    return f"\n## {title}\n\n{head}{''.join(lines)}"
