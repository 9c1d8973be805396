"""The page of runtimes: what each hands to CMSIS-NN, from the rows of its conditions."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.runtimes.host.hosts import TFLITE_HOSTS
from onnxlint_cmsis.runtimes.host.rows import ROWS, HostRow
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES, REVIEWED, runtime_of
from onnxlint_cmsis.runtimes.status import STATUS_OF_TFLM
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS
from onnxlint_cmsis.runtimes.tvm import FILE

RFC = "https://github.com/apache/tvm-rfcs/blob/main/rfcs/0015_Arm_CMSIS-NN_Integration.md"

HEAD = """# What does my runtime hand to CMSIS-NN?

`--runtime` names who calls CMSIS-NN:

* `direct`: the application, the default for `.onnx` files
* `tflm`: TensorFlow Lite Micro, which alone reads `.tflite` files
* `executorch`: the cortex_m backend of ExecuTorch, which alone reads `.pte` and `.bpte` files
* `tvm`: the partitioner of TVM up to 0.18.0

`@` and a commit or a date choose a reviewed revision: `tflm@2026-06`, `tflm@90b983c2`; of ExecuTorch also a release,
`executorch@1.5.1`. A runtime brings its own CMSIS-NN, which is judged unless `--release` names another.

`onnxlint-cmsis layers --runtime tflm model.onnx` says of each layer whether the runtime hands it over, and why not
([CNN401](rules/CNN401.md), [CNN402](rules/CNN402.md), [CNN403](rules/CNN403.md)).

## How do I judge an ONNX model that will be converted?

Where the converter decides (on padding, a global average, scales, a bias of zeros), a finding says "may" and has the
property `converter_decides`. To be certain, lint what the converter writes:

```sh
onnx2tf -i model.onnx -o converted -oiqt -cind x samples.npy "[[[[0,0,0]]]]" "[[[[1,1,1]]]]"
onnxlint-cmsis converted/model_full_integer_quant.tflite
```

`samples.npy` holds calibration inputs, channels last; the lists are mean and deviation of each channel.
`full_integer_quant` is int8 from end to end, `integer_quant` has a QUANTIZE and a DEQUANTIZE in reference code, and
`dynamic_range_quant` runs no CMSIS-NN.

## What of `.tflite` files?

Functions, refusals and bytes of the arena agree with recorded firmware on Cortex-M4, M55 and a scalar core.
`CONV_2D#12` is the operator with its number, `subgraph1:CONV_2D#1` one outside the main subgraph.

* A dense layer with a result of more than two axes has no cost at other sizes. Next to reference code a fix adds
  channels only to avoid an error or a wrong result.
* The arena of a streaming model has the values of its resource variables and their table (`resource_variables` in
  `memory`). An application that makes the table in another arena does without that part, rounded up to 16 bytes.
* What CALL_ONCE runs is judged and listed, and counts in no sum.
* Of custom operators TFLM_DECODE and those of the audio front end are known; the arena of the latter is not.
* Dates back to 2022-12-21 are judged operator by operator. Where nobody read what a kernel did then, or CMSIS-NN was
  between two releases, `CNN403[not-reviewed]` names the operator, and the file's verdict is UNKNOWN. Before 2026-05-21
  no arena is worked out.

## What of `.pte` files?

The linter judges each call of CMSIS-NN that a program holds, and what the backend's kernels refuse. Other operators are
ExecuTorch's own code: [copies between memory orders, look-ups and quantization](cost.md#where-is-it-a-range) have a
range of instructions, `aten::add` and the like no predicted cost. Most of its portable kernels take one order of memory
for all their tensors, and stop else (`CNN401[check]`); `aten::cat`, `constant_pad_nd` and `unsqueeze_copy` copy blocks
without a look at it (`CNN402[kernel]`). Delegates are not looked at. `layers` names the
operators that a build has to register (`EXECUTORCH_SELECT_OPS_LIST`). The arena is what the file plans. On a line of
its own `memory` shows what the loader takes of its method allocator on top, on a core of 32 bits: 1,760 to 26,276 bytes
for 61 programs. It is unknown where a delegate is loaded, which takes what it wants.

Scratch is planned for one instruction set, which the program does not name: `CNN401[plan]`, `CNN402[plan]` and
`CNN402[overrun]` tell which one, and what happens on another core. `CNN402[overrun]` is the dangerous one: the kernel
writes past its buffer. Its verdict is WRONG RESULTS too, but corrupt memory is worse than wrong numbers. Programs
of 1.3 and older allocate scratch when they run, and their average pools get none: `CNN401[buffer]` on cores with DSP
instructions.

Operators and the number of their arguments tell which releases made a program. In another one it stops:
`CNN401[release]` (its wrappers answer InvalidProgram) or `CNN401[operator]` (it does not load). Where no release is
asked for (`--runtime executorch@1.3.1`), a program is judged for the nearest one that runs it with CMSIS-NN `main`.
What kernels look at and hand over was read release by release, from 1.0.1 to cff6f4dd. The C++ of 1.5.1 and CMSIS-NN
8.0.0 were not to be had: cff6f4dd and `main` are judged in their place; of 1.6.0 padding of four numbers is read. 431
programs of one operator for Cortex-M4 and 232 for Cortex-M55, exported by 1.5.1, were run in QEMU by the loader and the
kernels of cff6f4dd: all that are told to stop stopped. [The firmware check](firmware-check.md) runs the calls, with the
buffers that the release hands over.

No program is fixed: change the model, and export it again for the core, since 1.4 with
`CortexMPassManager(program, target_config=CortexMTargetConfig(CortexM.M4)).transform()`. Of a `.bpte` file the program
inside is linted.

The keyword model of ExecuTorch's Arduino examples is planned for DSP. On Cortex-M4 its 12 calls of CMSIS-NN are
predicted at 8.24M instructions; QEMU counted 8.25M, and no value differed from the same arithmetic in integers. On
Cortex-M55 six layers return an error, the first after it has written its weights over addresses 192 to 2,751.

## What runs of a recurrent net?

* UNIDIRECTIONAL_SEQUENCE_LSTM runs in CMSIS-NN in int8 or int16 with an int16 cell state, from 6.0.0 on; in float it is
  reference code. Each run starts from zeros in TensorFlow Lite Micro 90b983c2
  (`cmsis_nn/unidirectional_sequence_lstm.cc:287`). SVDF runs in CMSIS-NN.
* The body of WHILE is judged layer by layer, and costs as often as it runs, which a counter up to a constant tells, as
  Keras writes it; else its cost is unknown.
* GRU and RNN of ONNX have no function in CMSIS-NN, and no operator in TensorFlow Lite Micro.

An unrolled net runs, half of it in reference code, in more than ten times the arena of convolutions over time. Layers
in CMSIS-NN, in reference code, and bytes of arena of nets (12 steps of 10 features, 16 units, 3 classes, random
weights), converted to int8 with TensorFlow 2.21.0 and Keras 3.15.1, for Cortex-M4; all ran in PyPI's tflite-micro:

* `LSTM(16, unroll=True)`: 70, 94, 42,448
* `GRU(16, unroll=True)`: 102, 93 to 96 by weights, 45,520 to 45,912
* two `Conv1D(16, 3)`, the second with dilation 2, and `Flatten`: 3, 0, 1,968

Without `unroll=True` the converter crashed while it calibrated LSTM and GRU. In 16x8 it gives dense layers a scale for
each output, which TensorFlow Lite Micro with CMSIS-NN refuses;
`converter._experimental_disable_per_channel_quantization_for_dense_layers = True` gives them one.

## Which revisions are reviewed?

Each with its day, then the CMSIS-NN that they bring, and the rows that judge it:

"""

STATUS = """
## What becomes of an error in TensorFlow Lite Micro?

A finding on such a layer names the line:

"""

HOSTS = """
## The device and the desktop

The same quantized model need not give the same integers on a device as on a desktop. The device multiplies a sum by a
number of 31 bits, and rounds twice where the shift is negative: to 2^-n first, then to a whole step. Desktop kernels
round once. Random numbers come out one step apart in 1 of 2^(n+1): 25 % at a shift of -1, 0.8 % at -6.

`onnxlint-cmsis layers --against-host FILE` tells it of a model, with the reason for each layer
([example](commands.md#what-does-each-layer-do)):

* A step is one unit of the layer's result. Bounds hold for equal inputs. `up to 0.4 %` is the part of random results
  that differs where none is clamped.
* Bounds are tight: of 246 in 29 third-party models all were reached within 40,000 inputs, and none was exceeded
  (`tests/support/host_agreement.py --search`).
* An output has a bound where one layer alone decides it. Behind several layers their differences add up, and the sum of
  the worst cases is a number that no input comes near: compare classes.
* A `.tflite` file is held against LiteRT as shipped (`litert`) and its reference kernels (`litert-reference`), an ONNX
  model against ONNX Runtime with CMSIS-NN called directly. There a layer of int8 is one step off at most, one of int16
  two; outputs have a bound where no layer may be off.
* A `.pte` program has no host. PyTorch computes ExecuTorch's operators in floats (`cortex_m/ops/operators.py`). Of 506
  programs of one operator, 10 came out a step off it: nine averages halfway between two steps, which the device takes
  away from zero and PyTorch to either side, and a softmax of 17.49998 steps, of which the device makes 18 and PyTorch
  17 (`tests/runtimes/test_pytorch_rounding.py`). A softmax of int8 was up to 0.51 steps from the true value.
* To reproduce a device on a desktop, run PyPI's `tflite-micro`, which computes the device's integers.

Hosts were measured with <versions> on x86-64, with one thread. `runtimes/host/rows.py` has sources, and how often
random layers differed. Steps at most, the larger ones where two fit a layer:

"""
HOSTS_END = """
Equal, but for these rows, are operators that move or compare elements, or compute sizes and places, and:

"""
HOSTS_LAST = """
Other operators on float may differ in the last bits. What is not named was not measured.
"""

TVM = f"""
## What does TVM take?

TVM had patterns for CMSIS-NN up to 0.18.0 ([RFC 0015]({RFC}),
`{FILE}`, read at 513c2be0, not run).
`onnxlint-cmsis layers --runtime tvm` says of each layer why none takes it.

TVM's reader of TensorFlow Lite files writes these patterns. An ONNX model needs a pass to NHWC (`ConvertLayout`) and,
for Q/DQ pairs, `FakeQuantizationToInteger`, which `partition_for_cmsisnn` does not run: without it softmax alone
matches, with it neither an average pool nor a Relu (`python/tvm/relay/transform/fake_quantization_to_integer.py:153,
426`). A convolution with one input channel is called as a depthwise one
(`src/relay/backend/contrib/cmsisnn/convolutions.cc:32-41`); `one-channel = "depthwise"` judges it so.
"""


def runtimes_page() -> str:
    """The whole page."""
    said: dict[str, list[str]] = {}
    for row in STATUS_OF_TFLM:
        said.setdefault(row.text, []).extend(row.functions)
    uses = "".join(f"* {', '.join(functions)}: {text}.\n" for text, functions in said.items())
    return f"{HEAD}{_revisions()}{STATUS}{uses}{_hosts()}{TVM}"


def _hosts() -> str:
    """What the device and runtimes of a desktop may differ in, and what comes out equal."""
    versions = " and ".join(sorted({host.measured.split(",")[0].split(" on ")[0] for host in TFLITE_HOSTS}))
    equal: dict[tuple[str, str], dict[str, None]] = {}
    for row in ROWS:
        if row.most == "0" and row.kinds:
            equal.setdefault((_host_names(row), ", ".join(row.kinds)), {}).update(dict.fromkeys(row.ops))
    same = "".join(f"* {hosts}, {kinds}: {', '.join(ops)}\n" for (hosts, kinds), ops in equal.items())
    return f"{HOSTS.replace('<versions>', versions)}{_apart()}{HOSTS_END}{same}{HOSTS_LAST}"


def _host_names(row: HostRow) -> str:
    return "both" if row.hosts == TFLITE_HOSTS else ", ".join(f"`{host.key}`" for host in row.hosts)


def _apart() -> str:
    """A line for each type of data and host, with the operators that differ."""
    lines: dict[str, dict[str, dict[str, None]]] = {}
    for row in ROWS:
        if row.most != "0":
            bounds = lines.setdefault(f"{', '.join(row.kinds)}, {_host_names(row)}", {})
            bounds.setdefault(row.most, {}).update(dict.fromkeys(row.ops))
    return "".join(f"* {head}: {'; '.join(map(_bound, bounds.items()))}\n" for head, bounds in lines.items())


def _bound(bound: tuple[str, Iterable[str]]) -> str:
    most, ops = bound
    return f"{', '.join(ops)} {most.replace(';', ',')}"


def _revisions() -> str:
    """Revisions that bring the same CMSIS-NN and are judged by the same rows, in one line."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    reviewed = (runtime_of(f"tflm@{row.commit}") for row in REVISIONS)
    for row in (*reviewed, *EXECUTORCH_RELEASES.values(), *REVIEWED.values()):
        others = "".join(f"; {', '.join(entries)}: {release}" for release, entries in row.behind.items())
        revision = f"{row.commit[:8]} ({row.since})"
        lines.setdefault((row.name, row.cmsis_nn, f"{row.release}{others}"), []).append(revision)
    return "".join(
        f"* `{name}` {', '.join(revisions)}: {library}; {judged}\n"
        for (name, library, judged), revisions in lines.items()
    )
