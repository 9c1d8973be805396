"""docs/cost.md: how instructions are predicted, how far predictions are off, what is unknown."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from onnxlint_cmsis.cmsis_nn.cost import COPIES, ELEMENTS
from onnxlint_cmsis.cmsis_nn.cost_records import FOLDER
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.runtimes.tflm.reference_cost import COSTS as REFERENCE

MEASURED = Path(__file__).resolve().parent.parent / "tests/data/cost_tflm_reference.jsonl.gz"
RELEASES = ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

HEAD = """# How are instructions predicted?

`onnxlint-cmsis layers` and `shape` predict how many instructions one call of a CMSIS-NN kernel retires. Instructions
are not cycles: loads that wait, branches and dual issue are not in them. [Time](cycles.md) has the range of cycles.

The layer's sizes give the turns of each loop of its kernel, and the prediction multiplies them with the instructions
of one turn. These are fitted to the real library: about 3,700 layers for each release and instruction set, and about
9,000 shapes for kernels measured later, with gcc 12.2, -O3, under QEMU with `-icount shift=0`, on Cortex-M3 (scalar),
M4 (dsp) and M55 (mve). `python lab/fit_cost.py [FOLDER] [--check]` fits, and `python -m firmware_check sweep --target
CPU --cmsis-nn DIR --like FILE` measures again.

Numbers for Cortex-M52, M55 and M85 are 1.28 times the instructions that are retired (one count of the emulator's 32 MHz
clock was taken for 40 instructions, and is 31.25). The factor changes no choice; compare two cores by their time.

## How far are they off?

Error in percent on shapes left out of the fit, in the worst release of 4.0.0 to main:

| layers | scalar: median / 95 % | dsp | mve |
|---|---|---|---|
| convolution | 0.02 / 0.10 | 0.03 / 0.14 | 0.08 / 0.36 |
| depthwise | 0.01 / 0.04 | 0.01 / 0.14 | 0.02 / 0.26 |
| fully connected | 0.04 / 0.26 | 0.16 / 0.58 | 0.11 / 0.57 |
| average pooling | 0.01 / 0.05 | 0.02 / 0.04 | 0.02 / 0.08 |
| maximum pooling | 0.09 / 0.54 | 0.06 / 0.45 | 0.02 / 0.06 |
| addition, multiplication | 0.02 / 0.05 | 0.02 / 0.06 | 0.06 / 0.16 |
| softmax | 1.8 / 19 | 1.8 / 19 | 1.2 / 16 |

Of 6,000 pairs of layers that differ in one channel count, and by over 2 % in instructions, at most one is predicted
in the wrong order. Softmax skips the exponentials of small values, so that its instructions depend on the data.

Kernels measured later, on 7.0.0 to main: shapes that no fit saw, then the median and the largest error in percent, of
the release and instruction set in which it is worst. Errors above 2 % belong to calls under 35,000 instructions.

"""

TAIL = """
*No bias* layers cost up to 16 % less than with one; kernels without such a line, and all before 7.0.0, get the number
of a layer with a bias. *Reversed weights* is the route of transposed convolutions with over 16 input channels and
strides of at most 2. Columns are kernel area times input channels.

## Where is it a range?

**Softmax.** With int8 inputs arm_nn_softmax_common_s8 takes 28 to 60 instructions for a value `diff_min` or more
below the largest of its row, and up to 540 (scalar, dsp) or 730 (Cortex-M55) for any other. `instructions_range` goes
from rows in which only the largest value counts to rows in which all count; every softmax measured lay between them,
to half a percent. On int16 it is one of two numbers, 3 to 16 % apart: the least where the input's scale is at least
10 / 65535.

**Reference code of the application.** Nobody knows how good it is. The most is that of the firmware check's code in
the worst of -O2, -O3 and -Os; the least that of the library's own C where a function does the same work, else the
best of the three. `python -m firmware_check sweep --reference=-Os --target CPU --like FILE` measures the calls of
`tests/data/cost_plain.jsonl.gz` again.

| instructions for an element | Cortex-M3 | Cortex-M4 | Cortex-M55 |
|---|---|---|---|
{plain}
**Copies.** CMSIS-NN has channels last. Where a layer wants its input in another memory order than the layer in front
left it in, the application copies it: a row of `layers` with the operator Transpose and the cause `layout`. A
Transpose between NCHW and NHWC at the border of a model costs nothing. Under a runtime the converter decides which
copies stay: they are not counted.

**Reference code of TensorFlow Lite Micro.** Ranges are known on int8 and int16 for the operators below, ADD and MUL
where their operands have unequal shapes. Firmware of revision 90b983c2 was measured with -O2, -O3 and -Os, with and
without checks, with newlib and newlib-nano, on four patterns of data: {measured} calls in four to seven builds on
each core (`tests/data/cost_tflm_reference.jsonl.gz`). The bounds come from two thirds of the shapes, moved apart by 8
%; two shapes of the other third lay outside by up to 10 %, and two bounds were moved. Code for Cortex-M3 ran on a
Cortex-M4. Other revisions, float, other operators, Cortex-M0, M0+ and M23 stay unknown.

| instructions | Cortex-M3 | Cortex-M4 | Cortex-M55 |
|---|---|---|---|
{reference}
A call, the end of a loop and each result come on top (`runtimes/tflm/reference_cost.py`). MEAN takes the first number
for each input element and the second for each of its axes. `python lab/measure_tflm_reference.py CPU LIBRARY FLAG...`
measures them in another build: `libtensorflow-microlite.a`, its include folders and the flags that choose the CPU.

## What is unknown?

These costs are `null` in JSON and `unknown` in text; totals leave them out:

* CMSIS-NN of CMSIS 5, and compilers other than gcc;
* before 7.0.0: transposed convolutions, 16-bit and 4-bit layers;
* batch matrix product, concatenation, LSTM, SVDF; softmax with results of 16 bits, of which the range is known;
* fully connected layers whose weights have a zero-point (4 to 29 % more than without one);
* grouped convolutions, dilated depthwise layers of int8, int8 pooling of several images, int8 average pooling with
  padding on scalar CPUs, softmax over a plane, softmax on MVE in 4.0.0, transposed convolutions without a bias on the
  direct route;
* on MVE, calls that arm_convolve_1_x_n_s8 hands back to arm_convolve_s8;
* several small images, or short rows of a fully connected layer, where the code around each makes 2 % of the call;
* layers with an unknown size, and calls that return an error;
* reference code of other kinds.

Measured sizes are channels up to 48, planes up to 12x12 and 1x64, depths of fully connected layers up to 400, int16
depths up to 1,100; larger ones only make measured loops run more often. Cortex-M0, M0+ and M23 get Cortex-M3's
numbers, and `layers` says so. Cortex-M7 and M33 get Cortex-M4's: of 936 calls half take the same to 0.4 %, 95 % to 4
%, the others 6 % less to 9 % more.

## What a warning is worth

Layers in reference code or without code are a warning where they do 5 % of a model's work or more, and a note below.
Work is counted in multiply-accumulates; an element of other layers counts as 3 from a table, 8 copied, 20 computed.
From 60 models in firmware (CMSIS-NN 4.0.0, 7.0.0 and main):

| instructions | Cortex-M4 | Cortex-M55 |
|---|---|---|
| a multiply-accumulate of a convolution or dense layer | 3.6 | 1.1 |
| an element from a table (Sigmoid) | 5 | 5 |
| an element copied (Slice) | 15 | 18 |
| an element of a pool or Concat that changes the scale | 35 to 46 | 40 to 54 |
| an element of a sum of unequal shapes | 265 | 84 |
"""


def cost_page() -> str:
    """The whole page."""
    tables = {(release, isa): _apart(release, isa) for release in RELEASES for isa in Isa}
    kernels = sorted({kernel for errors in tables.values() for kernel in errors})
    rows = (f"* {kernel}: {_worst([errors.get(kernel) for errors in tables.values()])}\n" for kernel in kernels)
    filled = {"{plain}": _plain(), "{reference}": _reference(), "{measured}": _measured()}
    tail = TAIL
    for mark, value in filled.items():
        tail = tail.replace(mark, value)
    return f"{HEAD}{''.join(rows)}{tail}"


def _plain() -> str:
    """The range of each kind of reference code on each core."""
    copies = " | ".join(f"{cost.least:g} to {cost.element + cost.carry:.0f}" for cost in COPIES.values())
    rows = [f"| a copy between memory orders | {copies} |"]
    for code, row in ELEMENTS.items():
        ends = " | ".join(f"{cost.least:g} to {cost.most:.0f}" for cost in row.values())
        rows.append(f"| `{code}` | {ends} |")
    return "\n".join(rows) + "\n"


def _reference() -> str:
    """The range of what each element of a reference kernel costs on each core."""
    words = {"element": "an element", "axis": "an axis of an element", "byte": "a byte", "run": "a run of bytes"}
    rows = [
        f"| {op} of {kind}, {name} | "
        + " | ".join(f"{row[isa][turn][0]:g} to {row[isa][turn][1]:g}" for isa in Isa)
        + " |"
        for (op, kind), row in REFERENCE.items()
        for turn, name in words.items()
        if turn in row[Isa.DSP]
    ]
    return "\n".join(rows) + "\n"


def _measured() -> str:
    """How many calls of reference kernels were measured."""
    with gzip.open(MEASURED, "rt", encoding="utf-8") as lines:
        return f"{sum(1 for _ in lines):,}"


def _apart(release: str, isa: Isa) -> dict[str, dict[str, Any]]:
    """Errors of the shapes that no fit saw, by kernel."""
    data = json.loads((FOLDER / f"{release}-{isa.value}.json").read_text(encoding="utf-8"))
    errors: dict[str, dict[str, Any]] = data.get("later", {}).get("apart_error_percent", {})
    return errors


def _worst(errors: list[dict[str, Any] | None]) -> str:
    """Shapes, median and largest error where the largest error is worst."""
    worst = max((error for error in errors if error), key=lambda error: float(error["max"]))
    return f"{worst['rows']}: {worst['median']:.2f} / {worst['max']:.1f}"
