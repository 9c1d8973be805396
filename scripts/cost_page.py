"""docs/cost.md: how instructions are predicted, how far predictions are off, what is unknown."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from onnxlint_cmsis.cmsis_nn.cost_error import DILATED, FAMILIES, FLOATS, NO_BIAS, REFERENCE_OTHER, SOFT_FLOATS, ZERO
from onnxlint_cmsis.cmsis_nn.cost_records import FOLDER, INTEGER_CPUS
from onnxlint_cmsis.cmsis_nn.reference_instructions import COPIES, ELEMENTS
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.runtimes.executorch.cost import INSTRUCTIONS as OWN_INSTRUCTIONS
from onnxlint_cmsis.runtimes.measured_cores import instruction_table
from onnxlint_cmsis.runtimes.tflm.reference_cost import INSTRUCTIONS

DATA = Path(__file__).resolve().parent.parent / "tests/data"
RELEASES = ("4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

HEAD = """# How are instructions predicted?

`onnxlint-cmsis layers` and `shape` predict how many instructions a call of a CMSIS-NN kernel retires: the turns of each
loop, which the layer's sizes give, times the instructions of one turn. These are not cycles ([time](cycles.md)).

Instructions of turns are fitted (`lab/fit_cost.py`) to the real library under QEMU (gcc 12.2, -O3, `-icount shift=0`)
on Cortex-M3 (scalar), M4 (dsp) and M55 (mve): about 3,700 layers for each release and instruction set, and about
10,000 shapes for kernels measured later. Cortex-M0 and M23, which have much fewer instructions than M3, were measured
by themselves: their code ran on an emulated Cortex-M3 and M33. M0+ has the numbers of M0. {sizes}

## How far are they off?

{apart}
What single measured calls and layers of nets are off by at most, in percent, beside 500 instructions (1,000 on
Cortex-M0, M0+ and M23), or outside of a range. `python -m firmware_check` judges by this table:

{most}
A layer without a bias that has the number of one with a bias: {no_bias} %. A dilated depthwise layer on Cortex-M0 and
M0+: {dilated} %. f32 and f16: {floats} %, without a floating-point unit {soft_floats} %. Reference code of the
application: nothing, on Cortex-M7 and M33 {reference} %.
Each output of a channel whose weights are all zero takes up to {zero} instructions less.

{later}
Errors above 2 % belong to calls under 35,000 instructions. Of 6,000 pairs of layers that differ in one channel count,
and by over 2 % in instructions, at most one is predicted in the wrong order. Layers without a bias cost up to 16 %
less: that is in the number of most kernels from 7.0.0 on, and others get the number of a layer with a bias. An int8
LSTM takes up to 9 % less where the scales of input and weights multiply to over 2^-12.

Functions for f32 and f16 (main) were counted on 18,040 shapes and held against 18,040 others (gcc 12.2, -O3,
-ffunction-sections -fdata-sections), with `float-contract` off and fast. With -Ofast, which CMSIS-NN's CMakeLists.txt
asks for, 97 of 100 layers with weights are within 5 % of fast on Cortex-M4 and 90 on M55, single ones 1.9 times as
much. On Cortex-M4, M7, M33 and M55, 95 of 100 shapes of each function are within 1.1 % (convolution, depthwise, fully
connected, matrix product) or 3.9 % (others), single shapes within 17 %. Of 1,712 other calls of 1,000 instructions and
more, 95 of 100 are within 0.9 % and 1.6 %. Numbers of Cortex-M4, M7 and M33 are those with a floating-point unit. C
code for f16 takes up to 3 instructions more for a result that lies between the limits of an activation than for one
beyond: the numbers are those of random data.

## Which compiler?

`--compiler gcc@12.2`, `gcc@13.2` and `clang@19.1` have numbers, with -O3. gcc 14 takes those of 13.2, and
was not measured. Other versions, armclang and IAR have none. `gcc` alone may be
12.2 or 13.2: where they differ by more than 3 %, a layer and the sum have a range, of which the sum is that of one
compiler. gcc 13.2 and clang 19.1 were measured on Cortex-M4 and M55 with 7.0.0; main has the same machine code but in
arm_transpose_conv_s8 and the LSTMs. Decisions of `--fix` and `compare` take the numbers of gcc 12.2 where gcc has no
version. clang compiled CMSIS-NN's inline assembly as it is.

What 95 of 100 shapes left out of the fit are off by at most (`lab/held_out_errors.py` prints it for each function), and
what a call takes against gcc 12.2 (least, median, most):

| layers | M4, gcc 13.2 | M4, clang 19.1 | M55, gcc 13.2 | M55, clang 19.1 |
|---|---|---|---|---|
| convolution | 0.1 %; 0.98, 1.00, 1.04 | 0.5 %; 0.94, 1.10, 1.26 | 0.3 %; 0.91, 0.97, 1.03 | 0.3 %; 0.85, 0.99, 1.12 |
| depthwise | 0.1 %; 0.86, 1.00, 1.03 | 1.3 %; 0.84, 1.12, 1.73 | 0.2 %; 0.91, 0.99, 1.01 | 0.9 %; 0.43, 0.86, 1.63 |
| dense | 0.6 %; 0.95, 1.00, 1.00 | 0.1 %; 0.97, 1.08, 1.12 | 0.2 %; 0.78, 0.83, 0.98 | 0.5 %; 0.37, 0.53, 0.79 |
| avg pool | 0.1 %; 0.97, 1.00, 1.03 | 2.1 %; 0.86, 0.94, 1.16 | 0.1 %; 0.92, 0.93, 0.95 | 0.1 %; 0.70, 0.83, 0.96 |
| max pool | 0.8 %; 0.94, 0.99, 1.00 | 3.4 %; 0.96, 1.13, 1.22 | 0.1 %; 0.83, 0.86, 0.90 | 0.1 %; 0.41, 0.56, 0.70 |
| sum | 0.1 %; 1.02, 1.02, 1.03 | 0.1 %; 1.07, 1.07, 1.08 | 0.1 %; 0.84, 0.84, 0.86 | 0.1 %; 0.60, 0.60, 0.74 |
| product | 0.1 %; 1.00, 1.02, 1.03 | 0.1 %; 0.98, 0.98, 1.00 | 0.2 %; 0.86, 0.89, 0.89 | 0.3 %; 0.59, 0.59, 0.69 |

Other optimisation levels are not predicted. One factor for each kernel does not do: of 219 shapes of 7.0.0 with gcc
12.2, convolutions take 0.98 to 1.04 times the instructions of -O3 with -O2 on M4 and 0.98 to 1.15 times on M55; with
-Os 1.11 to 1.65 and 1.02 to 1.36 times, depthwise layers 0.99 to 1.68 and 1.03 to 2.15 times.

## Where is it a range?

**Softmax.** With int8 inputs a value `diff_min` or more below the largest of its row takes 28 to 60 instructions, any
other up to 540 (Cortex-M3, M4) or 570 (Cortex-M55). `instructions_range` goes from rows in which only the largest value
counts to rows in which all count; of 518 calls with random numbers, in seven builds, none lay outside by more than
1 %: what the number is off by, the data decide. On int16 it is one of two numbers, 3 to 16 % apart.

**f32 and f16.** Softmax, tanh and sigmoid skip exponentials of numbers that are far off, in C code, and sigmoid on
Cortex-M55 too, so that an LSTM has a range on all: it goes from all skipped to all computed.

Cortex-M0, M0+, M3 and M23 compute f32 and f16 in software, which takes less for zeros: the range goes from an input of
zeros to one without, as that of a transposed convolution does on all CPUs where a ReLU, a clip or a pad comes before
it: it skips zeros. Of 129,411 calls with random numbers, with some zeros (as behind a ReLU) and with zeros alone, 0.3 %
lay outside by more than 5 %, none by more than 27 %.

**Reference code of the application.** The most is the firmware check's code in the worst of -O2, -O3 and -Os. The least
is the library's own C where a function does the same work, else the best of the three
(`tests/data/cost_plain.jsonl.gz`).

| instructions for an element | Cortex-M0 | M23 | M3 | M4 | M55 |
|---|---|---|---|---|---|
"""

TAIL = """
**Copies.** Where a layer wants another memory order than the layer in front left, the application copies: a row of
`layers` with the operator Transpose and the cause `layout`. At the border of a model that costs nothing. Under a
runtime the converter decides on copies, and none is counted.

**Reference code of TensorFlow Lite Micro.** {kernels} kernels of revision 90b983c2 were measured, as models of one
operator in the interpreter: {measured} calls with seven patterns of data
(`tests/data/cost_tflm_reference.jsonl.gz`). A range goes over two builds with gcc 12.2 and newlib: -O3 without checks
(NDEBUG), and -O2 with checks, which is what TensorFlow Lite Micro's Makefile takes. It holds what the data decide as
well. Other CPUs, compilers and revisions stay unknown. Kernels that CMSIS-NN has, such as ADD of equal shapes of
integers, are not among them. Ranges are those of -O3 and -O2: -Os takes 1.0 to 2.2 times as much for layers of
CMSIS-NN (above), and was not measured here. `lab/measure_tflm_reference.py` measures another build.
{cores}.

Of calls that no fit saw, 95 of 100 lie within the range of their build, or outside by this share at most (a call of
fewer than 1,000 instructions counts as 1,000):

{errors}

**ExecuTorch's own code.** Ranges are known for copies (`_clone_dim_order`, `_to_dim_order_copy` of one type,
`permute_copy`, `transpose_copy`, `clone`), `quantize_per_tensor`, `dequantize_per_tensor` and `quantized_activation`.
The kernels of cff6f4dd ran {own} calls on the same cores in six builds each (-O2, -O3, -Os; newlib and newlib-nano;
{own_errors}

## What is unknown?

These costs are `null` in JSON; totals leave them out:

* CMSIS-NN of CMSIS 5, and compilers other than gcc 12 to 14 and clang 19; with gcc 13, 14 and clang: releases before
  7.0.0, functions for f32 and f16, code of runtimes, and other CPUs than Cortex-M4 and M55
  (with gcc M52 and M85 have numbers)
* with clang 19.1, as more than 5 of 100 shapes that no fit saw are over 8 % off: transposes on Cortex-M4; on M55 a
  depthwise multiplier of 4 of which windows lie wholly in the padding
* before 7.0.0: transposed convolutions, 16-bit and 4-bit layers, pads, minimum, maximum, transpose; before 6.0.0:
  LSTM, SVDF
* with main: an LSTM with an initial state
* the body of a loop of which nobody can read how often it turns
* f32 and f16: pieces of code seen in fewer than 8 measured shapes
* softmax with results of 16 bits (its range is known), over a plane, and on MVE in 4.0.0
* fully connected layers whose weights have a zero-point (4 to 29 % more than without one)
* grouped convolutions, transposed convolutions without a bias on the direct route
* int8 pooling of several images
* on MVE, calls that arm_convolve_1_x_n_s8 hands back to arm_convolve_s8
* several small images, or short rows of a fully connected layer
* layers with an unknown size, and calls that return an error
* other reference code, such as portable code of ExecuTorch (`aten::add`) and audio operators (`SignalRfft`)

Measured were channels up to 48, planes up to 12x12 and 1x64, depths of fully connected layers up to 400, int16 depths
up to 1,100; larger sizes run the same loops more often.

Other cores get the numbers of integers of one that was measured, or none. 1,787 calls of 7.0.0 on each (gcc 12.2, all
functions but softmax) differ from these numbers:

| core | compared with | half by at most | 95 % | all |
|---|---|---|---|---|
| Cortex-M7 | M4 | 0.5 % | 3.1 % | 9.8 % |
| Cortex-M33, M35P (the same code) | M4 | 0.5 % | 3.4 % | 9.2 % |
| Cortex-M33, M35P with +nodsp | M3 | 0.0 % | 0.7 % | 8.1 % |
| Cortex-M55+nomve: unknown, and M52, M85 | M4 | 3.3 % | 12 % | 19 % |
| Cortex-M55+nodsp+nomve: unknown, and M52, M85 | M3 | 5.6 % | 14 % | 29 % |
| Cortex-M4+nodsp, M7+nodsp, which nobody makes: unknown | M3 | 0.6 % | 7.1 % | 27 % |

gcc 12.2 knows neither Cortex-M52 nor M85, 13.2 not M52: they have the numbers of M55, whose code they run. gcc 13.2
makes the same code for M85 as for M55, in all 113 files for integers of 7.0.0. What gcc 14 makes for M52 is unknown.
clang 19.1 makes other code for M85 (95 of 100 calls within 5 % of its code for M55) and M52 (up to 3 times as much).

Functions for f32 and f16 were measured on each (Cortex-M35P has M33's, M0+ has M0's): on M7 a convolution of f32 takes
up to 16 % more than on M4, on M33 a max pool up to 14 % less. On M55 gcc 12.2 makes code for the softmax of f16 that
stops, as its assembler encodes four instructions wrongly: the number is that of the same code, encoded as it should be.

## What a warning is worth

Layers in reference code or without code are a warning where they do 5 % of a model's work or more, and a note below.
Work is counted in multiply-accumulates; an element of other layers counts as 3 from a table, 8 copied, 20 computed.
From 60 models in firmware (CMSIS-NN 4.0.0, 7.0.0 and main), instructions on Cortex-M4 / M55:

* a multiply-accumulate of a convolution or dense layer: 3.6 / 0.9
* an element from a table (Sigmoid): 5 / 4
* an element copied (Slice): 15 / 14
* an element of a pool or Concat that changes the scale: 35 to 46 / 31 to 42
* an element of a sum of unequal shapes: 265 / 66
"""


def cost_page() -> str:
    """The whole page."""
    measured = {"{measured}": "cost_tflm_reference", "{own}": "cost_executorch"}
    filled = {mark: _measured(DATA / f"{name}.jsonl.gz") for mark, name in measured.items()}
    filled |= {"{later}": _later(), "{apart}": _apart_table(), "{most}": _most_table()}
    filled |= {
        "{no_bias}": str(NO_BIAS),
        "{dilated}": str(DILATED),
        "{floats}": str(FLOATS),
        "{soft_floats}": str(SOFT_FLOATS),
    }
    filled |= {"{reference}": str(REFERENCE_OTHER), "{zero}": str(ZERO)}
    table = instruction_table(INSTRUCTIONS)
    filled |= {
        "{kernels}": str(len(table["kernels"])),
        "{sizes}": _table_sizes(),
        "{cores}": _reference_cores(table["kernels"]),
        "{errors}": _reference_errors(table["apart_error_percent"]),
        "{own_errors}": _own_errors(),
    }
    page = f"{HEAD}{_plain()}{TAIL}"
    for mark, value in filled.items():
        page = page.replace(mark, value)
    return page


def _table_sizes() -> str:
    """What the installed tables of instructions take up."""
    files = sorted(FOLDER.glob("*.json"))
    taken = sum(path.stat().st_size for path in files)
    return (
        f"The {len(files)} tables of\n`cmsis_nn/instructions` take {taken:,} bytes, "
        f"that of TensorFlow Lite Micro's own kernels {INSTRUCTIONS.stat().st_size:,},\n"
        f"and that of ExecuTorch's {OWN_INSTRUCTIONS.stat().st_size:,}."
    )


def _apart_table() -> str:
    """Errors of shapes that no fit saw."""
    cpus = ("cortex-m0", "cortex-m23", "cortex-m3", "cortex-m4", "cortex-m55")
    heads = ["Cortex-M0: median / 95 %", *(cpu.removeprefix("cortex-").upper() for cpu in cpus[1:])]
    rows = [f"| {row.layers} | {' | '.join(row.apart[cpu] for cpu in cpus)} |" for row in FAMILIES if row.apart]
    return (
        "Error in percent on shapes left out of the fit, in the worst release of 4.0.0 to main:\n\n"
        + "\n".join([f"| layers | {' | '.join(heads)} |", "|---" * 6 + "|", *rows])
        + "\n"
    )


def _most_table() -> str:
    """The largest errors, by which the firmware check judges."""
    heads = ("Cortex-M3, M4, M55", "M0, M0+, M23", "M4, M55 with clang 19.1", "M7, M33")
    rows = [f"| {row.layers} | {row.gcc} | {row.small} | {row.clang} | {row.other} |" for row in FAMILIES]
    return "\n".join([f"| layers | {' | '.join(heads)} |", "|---" * 5 + "|", *rows]) + "\n"


CORES = {
    "cortex-m0": "M0", "scalar": "M3", "dsp": "M4", "cortex-m7": "M7", "cortex-m23": "M23", "cortex-m33": "M33",
    "mve": "M55",
}  # fmt: skip
SHORT_TYPES = {"bool": "bool", "float32": "f32", "int8": "s8", "int16": "s16", "int32": "s32", "uint8": "u8"}


def _reference_cores(kernels: dict[str, Any]) -> str:
    """The cores that code was measured on, and the kernels that have no range on some of them."""
    unknown = []
    for kernel, builds in kernels.items():
        op, *types = kernel.split()
        without = [name for core, name in CORES.items() if core not in builds]
        if without:
            types = [SHORT_TYPES[name] for name in types]
            unknown.append(f"{op} {' to '.join(types)} on {', '.join(without)}")
    *cores, last = CORES.values()
    return (
        f"Code was measured on Cortex-{', '.join(cores)} and {last}. M0+ has the numbers of M0,\n"
        "M35P those of M33, whose code it runs, and M52 and M85 those of M55. M7's ranges hold its units\n"
        "for 32 and for 64 bits. Where the numbers of two cores say the same of each measured call, to\n"
        "1 %, the table has one of them.\n"
        f"No range, as calls that no fit saw lie too far off: {'; '.join(unknown)}"
    )


def _reference_errors(errors: dict[str, dict[str, list[float]]]) -> str:
    """A table of errors, and the kernels that have them in their worst build."""
    rows = ["| share | kernels |", "|---|---|"]
    worst = {kernel: max(error[0] for error in builds.values()) for kernel, builds in errors.items()}
    for low, high in pairwise((-1.0, 1.0, 3.0, 6.0, 10.0, 100.0)):
        kinds: dict[str, list[str]] = {}
        for kernel in (kernel for kernel, error in worst.items() if low < error <= high):
            op, *types = kernel.split()
            kinds.setdefault(op, []).append(" to ".join(SHORT_TYPES[name] for name in types))
        names = "; ".join(f"{op} {', '.join(types)}" for op, types in kinds.items())
        if names:
            rows.append(f"| {max(error for error in worst.values() if error <= high):.1f} % | {names} |")
    return "\n".join(rows)


def _own_errors() -> str:
    """How far calls that no fit saw lie outside of ExecuTorch's own bounds, and how many cores share them."""
    table = json.loads(OWN_INSTRUCTIONS.read_text(encoding="utf-8"))
    off = max(percent for cores in table["apart_error_percent"].values() for percent in cores.values())
    numbers = [numbers for cores in table["kernels"].values() for numbers in cores.values()]
    shared = sum(isinstance(of_core, str) for of_core in numbers)
    return fill(
        "M7 with both units; `tests/data/cost_executorch.jsonl.gz`). Calls that were left out of the fit lie outside "
        f"of the bounds by {off:.1f} % at most; then bounds are moved apart by {table['margin_percent']} %, and none "
        f"lies outside. Of {len(numbers)} kinds of code on a core {shared} have the numbers of another one, as above. "
        "Releases from 1.1.0 (1.3.0 between float and integers) to 1.4.1 have the same source; that of 1.5.1 was not "
        "read. Other CPUs stay unknown. `lab/measure_executorch.py` measures another build.",
        120,
        break_on_hyphens=False,
    )


def _later() -> str:
    """How far off kernels are that were measured later, each where it is worst."""
    kinds, middle, largest = _worst([isa.value for isa in Isa])
    _, middle_alone, largest_alone = _worst(sorted(set(INTEGER_CPUS.values())))
    return (
        f"{kinds} kinds of layers were measured later, on 7.0.0 to main. On shapes that no fit saw the median error"
        f" is\nat most {middle:.2f} %, the largest {largest:.1f} %; on Cortex-M0 and M23 {middle_alone:.1f} % and"
        f" {largest_alone:.0f} %."
    )


def _worst(builds: list[str]) -> tuple[int, float, float]:
    """Kinds of layers on some builds, the largest median of the errors of one, and the largest error."""
    worst: dict[str, float] = {}
    medians: dict[str, float] = {}
    for errors in (_apart(release, build) for release in RELEASES for build in builds):
        for kernel, error in errors.items():
            worst[kernel] = max(worst.get(kernel, 0.0), float(error["max"]))
            medians[kernel] = max(medians.get(kernel, 0.0), float(error["median"]))
    return len(worst), max(medians.values()), max(worst.values())


def _plain() -> str:
    """The range of each kind of reference code on each core."""
    copies = " | ".join(f"{cost.least:g} to {cost.element + cost.carry:.0f}" for cost in COPIES.values())
    rows = [f"| a copy between memory orders | {copies} |"]
    for code, row in ELEMENTS.items():
        ends = " | ".join(f"{cost.least:g} to {cost.most:.0f}" for cost in row.values())
        rows.append(f"| `{code}` | {ends} |")
    return "\n".join(rows) + "\n"


def _measured(path: Path) -> str:
    """How many calls a file of measured calls holds."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return f"{sum(1 for _ in lines):,}"


def _apart(release: str, build: str) -> dict[str, dict[str, Any]]:
    """Errors of the shapes that no fit saw, by kernel."""
    data = json.loads((FOLDER / f"{release}-{build}.json").read_text(encoding="utf-8"))
    errors: dict[str, dict[str, Any]] = data.get("later", {}).get("apart_error_percent", {})
    return errors
