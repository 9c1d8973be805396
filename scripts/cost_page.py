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

HEAD = """# Predicted instructions

`onnxlint-cmsis shape` and `onnxlint-cmsis layers` predict how many instructions one call of a CMSIS-NN kernel retires.
Instructions are not cycles: loads that wait, branches and dual issue are not in them.
[From instructions to time](cycles.md) has the range of cycles that public measurements give.

A prediction starts from the kernel that does the work on the target. The layer's sizes give the turns of each loop of
the kernel (`onnxlint_cmsis/cmsis_nn/integer/`). The prediction multiplies them with the instructions of one turn, which
are fitted to measurements of the real library: about 3,700 layers for each release and instruction set, and about 9,000
shapes for kernels that were measured later.

```sh
python lab/fit_cost.py [FOLDER] [--check]
```

`onnxlint_cmsis/cmsis_nn/instructions/` has the results, one file for each release and instruction set, with their
errors. They were measured with gcc 12.2, -O3, under QEMU with `-icount shift=0`, on Cortex-M3 (scalar), Cortex-M4 (dsp)
and Cortex-M55 (mve). `tests/data/cost_later.jsonl.gz` has the later shapes and their instructions;
`python -m firmware_check sweep --target CPU --cmsis-nn DIR --like FILE` measures them again.

Numbers for Cortex-M52, M55 and M85 are 1.28 times the instructions that are retired. One count of the emulator's clock
is taken for 40 instructions; the clock of mps3-an547 runs at 32 MHz, which makes it 31.25. All of them have the same
factor, so that it changes no choice between kernels or sizes. Compare two cores by their time: the ranges of time were
related to the same numbers.

## How far they are off

Error in percent on shapes left out of the fit, in the worst release of 4.0.0 to main. The shapes are split at random
into four parts, and each part is predicted from the three others:

| layers | scalar: median / 95 % | dsp | mve |
|---|---|---|---|
| convolution | 0.02 / 0.10 | 0.03 / 0.14 | 0.08 / 0.36 |
| depthwise | 0.01 / 0.04 | 0.01 / 0.14 | 0.02 / 0.26 |
| fully connected | 0.04 / 0.26 | 0.16 / 0.58 | 0.11 / 0.57 |
| average pooling | 0.01 / 0.05 | 0.02 / 0.04 | 0.02 / 0.08 |
| maximum pooling | 0.09 / 0.54 | 0.06 / 0.45 | 0.02 / 0.06 |
| addition, multiplication | 0.02 / 0.05 | 0.02 / 0.06 | 0.06 / 0.16 |
| softmax | 1.8 / 19 | 1.8 / 19 | 1.2 / 16 |

Some measured layers differ in one channel count only, and by over 2 % in instructions. At most 1 of 6,000 such pairs is
predicted in the wrong order. Softmax is less exact: it skips the exponentials of small values, so that its instructions
depend on the data. Its number is that of one fixed pattern of values.

## Kernels that were measured later

No fit saw a third of their shapes. Each cell has the number of these shapes, then the median and the largest error of a
prediction in percent. Errors above 2 % belong to small calls, under 35,000 instructions.

| kernel | release | scalar | dsp | mve |
|---|---|---|---|---|
"""

TAIL = """
*No bias* are layers without a bias, which cost up to 16 % less than with one. Kernels that have no such line, and all
before 7.0.0, get the number of a layer with a bias. *Reversed weights* is the route of transposed convolutions with
over 16 input channels and strides of at most 2. The number of columns is kernel area times input channels. int16 layers
have biases of 64 bits.

## Softmax: a range

For a softmax `layers` adds the least and the most instructions, `instructions_range` in JSON. With int8 inputs
arm_nn_softmax_common_s8 takes 28 to 60 instructions for a value `diff_min` or more below the largest of its row. Any
other value costs up to 540 (scalar, dsp) or 730 (Cortex-M55, whose code gcc 12.2 leaves scalar). The least is for rows
in which only the largest value counts. The most is for rows in which all values count and differ from the largest.
Every softmax measured with random data lay between them, to half a percent.

A softmax on int16 costs one of two numbers, 3 to 16 % apart: the least where its input has a scale of at least
10 / 65535, the most where the scale is smaller.

## Reference code and copies: a range

Nobody knows how good the reference code of an application is. `layers` gives a range for reference code of
which both ends were measured: copies, tables, changes of scale, concatenations that change the scale, sums and
products. The most is that of the firmware check's code in the worst of -O2, -O3 and -Os. The least is that of the
library's own C where a function does the same work, else the best of the three. `tests/data/cost_plain.jsonl.gz` has
the calls; `python -m firmware_check sweep --reference=-Os --target CPU --like FILE` measures them again.

| instructions for an element | Cortex-M3 | Cortex-M4 | Cortex-M55 |
|---|---|---|---|
{plain}
A layer may want its input in another memory order than the layer in front left it in: CMSIS-NN has channels last, and
a Reshape counts channels first. No node stands for the copy that the application then makes, such as those of a channel
shuffle. It is a row of `layers` with the operator Transpose and the cause `layout`, and a line under `-v`. A
Transpose between NCHW and NHWC at the border of a model costs nothing, as the host may write and read either order.
Converters such as onnx2tf may remove copies. With a range among the costs, totals are `between` two numbers,
`instructions_range` in JSON, and the first line tells what part of the instructions reference code runs. Under a
runtime the converter decides which of these copies stay: they are not counted, and where there are any no such part
is told.

## Reference kernels of TensorFlow Lite Micro: a range

For `.tflite` files, and under `--runtime tflm` for layers of ONNX models that become one operator, `layers` gives a
range for these reference kernels on int8 and int16: MEAN, LOGISTIC, CONCATENATION, ADD and MUL whose operands have
unequal shapes, and TRANSPOSE on int16 (that of int8 is a kernel of CMSIS-NN). The range is wide because the build
decides: firmware of revision 90b983c2 was measured with -O2, -O3 and -Os, with and without checks, with newlib and
newlib-nano, on four patterns of data. LOGISTIC on int8 is the widest: it takes 11 instructions for an input that
saturates, and up to 840 for any other (-Os).

| instructions | Cortex-M3 | Cortex-M4 | Cortex-M55 |
|---|---|---|---|
{reference}
A call, the end of a loop and each result cost more on top; `runtimes/tflm/reference_cost.py` has all parts. MEAN takes
the first number for each input element and the second for each of its axes: an image has four.
`tests/data/cost_tflm_reference.jsonl.gz` has {measured} calls in four to seven builds on each core. The bounds come
from two thirds of the shapes, moved apart by 8 %. Two shapes of the other third then lay outside by up to 10 %, and two
bounds were moved to hold them. Code for Cortex-M3 ran on a Cortex-M4. Other revisions, float, other operators, and
Cortex-M0, M0+ and M23, whose code multiplies in other ways, stay unknown. The memory order in which a converter writes
an image is not known: the range of an ONNX layer holds both.

`python lab/measure_tflm_reference.py CPU LIBRARY FLAG...` measures these calls again in another build. LIBRARY is
its `libtensorflow-microlite.a`, FLAGs are its include folders and the flags that choose the CPU. The script says which
calls leave their range. It needs gcc for Arm with libstdc++, and QEMU.

## What is unknown

These costs are `null` in JSON and `unknown` in the table of `layers`. Totals leave them out:

* CMSIS-NN of CMSIS 5 and compilers other than gcc;
* before 7.0.0: transposed convolutions, 16-bit and 4-bit layers;
* kernels that were not measured: batch matrix product, concatenation, LSTM, SVDF;
* softmax with results of 16 bits, of which the range is known;
* fully connected layers whose weights have a zero-point: 4 to 29 % more than without one (7.0.0, depths of 16 to 640);
* cases that were not measured: grouped convolutions, dilated depthwise layers of int8, int8 pooling of several images,
  int8 average pooling with padding on scalar CPUs, softmax over a plane, softmax on MVE in 4.0.0, transposed
  convolutions without a bias on the direct route;
* on MVE, calls that arm_convolve_1_x_n_s8 hands back to arm_convolve_s8, as the output is narrower than its padded
  columns;
* calls with several small images, or several short rows of a fully connected layer, where the code around each image
  or row makes 2 % of the call: apart from softmax, the first measurements had one image or row each;
* layers with an unknown size, and calls that return an error;
* reference code of other kinds (softmax, pooling, convolutions, dense layers; in runtimes all others).

Addition and multiplication of CMSIS-NN do not broadcast, on int8 or on int16. Reference code adds operands of unequal
shapes. Maximum and minimum do broadcast.

Measured sizes are channels up to 48, planes up to 12x12 and 1x64, depths of fully connected layers up to 400, and int16
depths up to 1,100. Larger sizes only make measured loops run more often, and are predicted.

Cortex-M0, M0+ and M23 lack much of Cortex-M3's instruction set. Nothing was measured on them. They get Cortex-M3's
numbers, and `layers` says so.

Cortex-M7 and M33 get Cortex-M4's numbers, but gcc makes other code for them. Of 936 calls of all kinds (7.0.0) half
take the same instructions as on Cortex-M4 to 0.4 %, and 95 % to 4 %. The others take 6 % less to 9 % more on Cortex-M7,
and 5 % less to 5 % more on Cortex-M33. int16 convolutions take up to 5 % more on Cortex-M33.

## What a warning is worth

Layers in reference code or without any code are a warning where they do 5 % of a model's
work or more, and a note below. Work is counted in multiply-accumulates. An element of a layer without
multiply-accumulates counts as 3 where a table gives it, 8 where it is copied, 20 where it is computed. The numbers come
from instructions of 60 models in firmware under QEMU (CMSIS-NN 4.0.0, 7.0.0 and main, gcc 12.2):

| what | Cortex-M4 | Cortex-M55 |
|---|---|---|
| a multiply-accumulate of a convolution or dense layer | 3.6 | 1.1 |
| an element from a table (Sigmoid) | 5 | 5 |
| an element copied (Slice) | 15 | 18 |
| an element of a pool or Concat that changes the scale | 35 to 46 | 40 to 54 |
| an element of a sum of unequal shapes | 265 | 84 |

Runtimes have other code. The numbers only rank the layers of one model.
"""


def cost_page() -> str:
    """The whole page."""
    tables = {(release, isa): _apart(release, isa) for release in RELEASES for isa in Isa}
    kernels = sorted({kernel for found in tables.values() for kernel in found})
    rows = (
        f"| {kernel} | {release} | " + " | ".join(_cell(tables[release, isa].get(kernel)) for isa in Isa) + " |\n"
        for kernel in kernels
        for release in RELEASES
        if any(kernel in tables[release, isa] for isa in Isa)
    )
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
        ends = " | ".join(f"{each.least:g} to {each.most:.0f}" for each in row.values())
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
    found: dict[str, dict[str, Any]] = data.get("later", {}).get("apart_error_percent", {})
    return found


def _cell(error: dict[str, Any] | None) -> str:
    return f"{error['rows']}: {error['median']:.2f} / {error['max']:.1f}" if error else ""
