"""The page of predicted time: the rows of cycles per instruction, with the nets they were made from."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cycles import ROWS, WIDEST, CycleRow

HEAD = """# How long will it take?

`--clock 120MHz` adds a predicted time of one run to linting, `layers`, `compare`, `widths`, `report` and `scan`; on
Cortex-M55 the setting `memory` says where activations and weights lie.

```sh
onnxlint-cmsis layers model.onnx --target cortex-m4 --clock 120MHz
onnxlint-cmsis model.onnx --clock cortex-m4=120MHz --clock cortex-m55=160MHz --config memory=tcm
```

It is a range: the [predicted instructions](cost.md) times the cycles per instruction below, divided by the clock. JSON
and SARIF have it as `time`: `clock_hz`, `predicted_ms`, `cycles_per_instruction`, `source`, and `reason` where there
is none. Nothing was measured on silicon here: public sources give cycles, and the instructions are those predicted for
the same net or layer with CMSIS-NN 7.0.0 and gcc.

"""

TAIL = """
## What do the ranges not cover?

* Each range comes from few int8 nets or layers (`cmsis_nn/cycles.py`), of convolutions, depthwise and fully connected
  layers; no other net tested it. On Apollo510 an average pool took {pool}, a sum {add}, a product {mul}.
* The source for Apollo510 names neither padding nor placement: equal sizes and TCM are taken.
* Sources for Cortex-M4 and M33 time microTVM with an older CMSIS-NN. Another runtime, compiler, wait states or caches
  may change it.
* Layers of unknown cost are left out: "predicted at least", with their number. Other CPUs, and `+nodsp` or `+nomve`,
  have no time.
"""


def cycles_page() -> str:
    """The whole page."""
    head = "| CPU, memory | cycles per instruction | spread | source |\n|---|---|---|---|\n"
    outside = {net.name.split()[0]: f"{net.ratio:.2f}" for row in ROWS for net in row.outside}
    names = {"{pool}": "average", "{add}": "addition", "{mul}": "multiplication"}
    tail = TAIL
    for mark, name in names.items():
        tail = tail.replace(mark, outside[name])
    return f"{HEAD}{head}{''.join(map(_row, ROWS))}{_apart()}{tail}"


def _row(row: CycleRow) -> str:
    bounds, spread = f"{row.low:.2f} to {row.high:.2f}", f"±{100 * row.spread:.0f} %"
    cpu = f"{row.cpu}, {row.memory}" if row.memory else row.cpu
    return f"| {cpu} | {bounds} | {spread} | [{row.source}]({row.address}) |\n"


def _apart() -> str:
    """Which rows give no time, and what an unknown placement means."""
    wide = ", ".join(row.cpu for row in ROWS if row.spread > WIDEST)
    limit = f"A row with a spread above {100 * WIDEST:.0f} % gives no time: {wide}."
    return f"\n{limit} Where `memory` is not given, the range covers all rows of the CPU.\n"
