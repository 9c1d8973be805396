"""docs/cost.md: how instructions are predicted, how far predictions are off, what is unknown."""

from __future__ import annotations

import json
from typing import Any

from onnxlint_cmsis.cmsis_nn.cost.measured import FOLDER
from onnxlint_cmsis.types import Isa

RELEASES = ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

HEAD = """# Predicted instructions

`onnxlint-cmsis cost` and `onnxlint-cmsis layers` predict how many instructions one call of a CMSIS-NN kernel retires.
Instructions are not cycles: loads that wait, branches and dual issue are not in them.
[From instructions to time](cycles.md) has the range of cycles that public measurements give.

A prediction starts from the kernel that does the work on the target. The layer's sizes say how often each loop of the
kernel runs (`onnxlint_cmsis/cmsis_nn/cost/`). That number is multiplied with the instructions of one turn, which were
fitted to measurements of the real library: of about 3,700 layers for each release and instruction set, and of about
7,000 shapes for kernels that were measured later.

```sh
python scripts/fit_cost.py [FOLDER] [--check]
```

The results, one file for each release and instruction set, are in `onnxlint_cmsis/cmsis_nn/cost/instructions/` with
their provenance: gcc 12.2, -O3, under QEMU with `-icount shift=0`, on Cortex-M3 (scalar), Cortex-M4 (dsp) and
Cortex-M55 (mve), and their errors. The later shapes and what they measured are in `tests/data/cost_later.jsonl.gz`;
`python -m firmware_check sweep --target CPU --cmsis-nn DIR --like FILE` measures them again.

## How far they are off

Error in percent on shapes left out of the fit (four random parts of the shapes, each predicted from the three others),
the worst release of 4.0.0 to main:

| layers | scalar: median / 95 % | dsp | mve |
|---|---|---|---|
| convolution | 0.02 / 0.10 | 0.03 / 0.14 | 0.08 / 0.36 |
| depthwise | 0.01 / 0.04 | 0.01 / 0.14 | 0.02 / 0.26 |
| fully connected | 0.04 / 0.26 | 0.16 / 0.58 | 0.11 / 0.57 |
| average pooling | 0.01 / 0.05 | 0.02 / 0.04 | 0.02 / 0.08 |
| maximum pooling | 0.09 / 0.54 | 0.06 / 0.45 | 0.02 / 0.06 |
| addition, multiplication | 0.02 / 0.05 | 0.02 / 0.06 | 0.06 / 0.16 |
| softmax | 1.8 / 19 | 1.8 / 19 | 1.2 / 16 |

Of all pairs of measured layers that differ in one channel count alone and by over 2 % in instructions, at most 1 in
6,000 is predicted in the wrong order. Softmax is less exact because it skips the exponentials of small values: its
instructions depend on the data. Its number is that of one fixed pattern of values.

## Kernels that were measured later

A third of their shapes was held apart: no fit saw them. Each cell has how many they were, and the median and the
largest error of a prediction in percent. Errors above 2 % are of small calls, of under 35,000 instructions.

| kernel | release | scalar | dsp | mve |
|---|---|---|---|---|
"""

TAIL = """
*Reversed weights* is the route of transposed convolutions with over 16 input channels and strides of at most 2. Columns
are the elements of a window, kernel area times input channels. int16 layers have biases of 64 bits.

## Softmax: a range

For a softmax on int8 `layers` adds the least and the most instructions, `instructions_range` in JSON. In
arm_nn_softmax_common_s8 a value that lies `diff_min` or more below the largest of its row costs 28 to 60 instructions,
any other one up to 540 (scalar, dsp) or 730 (Cortex-M55, whose code gcc 12.2 leaves scalar). The least is a row of
which only the largest value counts, the most one of which all values count and differ from the largest. Every softmax
that was measured with random data lay between them, to half a percent.

## What is unknown

`null`, or `unknown` in the table of `layers`, and left out of the totals:

* CMSIS-NN of CMSIS 5 and compilers other than gcc;
* before 7.0.0: transposed convolutions, 16-bit and 4-bit layers;
* kernels that were not measured: batch matrix product, concatenation, LSTM, SVDF, softmax from int8 to int16 (but for
  its range), fully connected layers with a scale per channel;
* fully connected layers whose weights have a zero-point: 4 to 29 % more than without one (7.0.0, depths of 16 to 640);
* ways through kernels that were not measured: grouped convolutions, dilated depthwise layers of int8, int8 pooling of
  several images, int8 average pooling with padding on scalar CPUs, softmax over a plane, softmax on MVE in 4.0.0,
  transposed convolutions without a bias on the direct route, and what arm_convolve_1_x_n_s8 hands back to
  arm_convolve_s8 on MVE because the output is narrower than its padded columns;
* several images, or rows of a fully connected layer, that are so small that code which runs once for each of them makes
  2 % of the call: every call that was measured first had one image or row, but those of softmax;
* layers with an unknown size, and calls that return an error.

Addition and multiplication of CMSIS-NN do not broadcast, on int8 as on int16: operands of unequal shapes are added in
plain code, which has no cost here. Maximum and minimum do broadcast.

Sizes beyond the measured ones (channels up to 48, planes up to 12x12 and 1x64, depths of fully connected layers up to
400; int16 depths up to 1,100) only make measured loops run more often, and are predicted.

Cortex-M0, M0+ and M23 lack much of Cortex-M3's instruction set. Nothing was measured on them: their numbers are
Cortex-M3's, which `layers` says.

## What a warning is worth

Layers in plain code, in a runtime's reference code, or without any code are a warning where they do 5 % of a model's
work or more, and a note below. Work is counted in multiply-accumulates, and an element of a layer without any counts as
so many: 3 where a table gives it, 8 where it is copied, 20 where it is computed. The numbers come from instructions of
60 models in firmware under QEMU (CMSIS-NN 4.0.0, 7.0.0 and main, gcc 12.2):

| what | Cortex-M4 | Cortex-M55 |
|---|---|---|
| a multiply-accumulate of a convolution or dense layer | 3.6 | 1.1 |
| an element from a table (Sigmoid) | 5 | 5 |
| an element copied (Slice) | 15 | 18 |
| an element of a pool or Concat that changes the scale | 35 to 46 | 40 to 54 |
| an element of a sum of unequal shapes | 265 | 84 |

Runtimes have other code: the numbers rank layers of one model, no more.
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
    return f"{HEAD}{''.join(rows)}{TAIL}"


def _apart(release: str, isa: Isa) -> dict[str, dict[str, Any]]:
    """Errors of the shapes held apart, by kernel."""
    data = json.loads((FOLDER / f"{release}-{isa.value}.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = data.get("later", {}).get("apart_error_percent", {})
    return found


def _cell(error: dict[str, Any] | None) -> str:
    return f"{error['rows']}: {error['median']:.2f} / {error['max']:.1f}" if error else ""
