"""The page of runtimes: what each hands to CMSIS-NN, from the rows of its conditions."""

from __future__ import annotations

from onnxlint_cmsis.checks.run_checks import code_of
from onnxlint_cmsis.runtimes.conditions import conditions_of
from onnxlint_cmsis.runtimes.host import ROWS, TFLITE_HOSTS, HostRow
from onnxlint_cmsis.runtimes.runtime import REVIEWED, STATUS_OF_TFLM, TFLM, ConditionRow, Runtime, kind_of, runtime_of
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS
from tvm_table import tvm_table

HEAD = """# What does my runtime hand to CMSIS-NN?

`--runtime` names who calls CMSIS-NN:

| name | who calls CMSIS-NN | default for |
|---|---|---|
| `direct` | the application, as the wrappers expect | `.onnx` files |
| `tflm` | TensorFlow Lite Micro | `.tflite` files |
| `executorch` | the cortex_m backend of ExecuTorch | `.pte` files |
| `tvm` | the partitioner of TVM up to 0.18.0 | |

Only `tflm` reads `.tflite` files, and only `executorch` reads `.pte` files; with another runtime the linter judges them
for their own and says so, and `memory` refuses. `@` and a commit or a date choose a revision that was reviewed:
`tflm@2026-06`, `tflm@90b983c2`; of ExecuTorch also a release, `executorch@1.4.1`. A runtime brings its own CMSIS-NN,
which is judged unless `--release` names another.

## How do I judge an ONNX model that will be converted?


Converters differ, and where that matters a finding says "may" and has the property `converter_decides`. They decide
on PAD or SAME padding, MEAN or AVERAGE_POOL_2D for a global average, which activations are fused, one scale for dense
weights or one for each output, a bias of zeros where there is none, and all scales of a float model. To be certain,
convert the model and lint the result:

```sh
onnx2tf -i model.onnx -o converted -oiqt -cind x samples.npy "[[[[0,0,0]]]]" "[[[[1,1,1]]]]"
onnxlint-cmsis converted/model_full_integer_quant.tflite
```

`samples.npy` holds inputs for the calibration, channels last; the lists are mean and deviation of each channel. Of
the files, `full_integer_quant` is int8 from end to end, `integer_quant` has a QUANTIZE and a DEQUANTIZE in reference
code, and `dynamic_range_quant` runs no CMSIS-NN. With onnx2tf 1.29.24 and tensorflow 2.19.0 the linter said the same
of a small net before and after: the first padding becomes a PAD (<pad>, `arm_pad_s8`) with a buffer of its own, the
average a MEAN in reference code (<mean>).

## What of `.tflite` files?

Everything is said of them too: kernels, hazards, channels that move together or do nothing, the cost of other counts.
Functions, refusals and bytes of the arena agree with recorded runs of real firmware on Cortex-M4, M55 and a scalar
core. Tensors keep their layouts (NHWC data, OHWI weights). `CONV_2D#12` is the operator with its number,
`subgraph1:CONV_2D#1` one outside the main subgraph.

* A dense layer with a result of more than two axes has no cost at other sizes. Next to reference code a fix adds
  channels only to avoid an error or a wrong result.
* A channel is dead where its values are the same for every input, under the kernels' rounding too, or where no layer
  reads it.
* The arena of a streaming model has the values of its resource variables and their table (`resource_variables` in
  `memory`). An application that makes the table with another arena does without that part, rounded up to 16 bytes.
* What CALL_ONCE runs is judged and listed, and counts in no sum.
* Of custom operators TFLM_DECODE and those of the audio front end are known; with the latter the arena is not.

## What of `.pte` files?

A program of ExecuTorch holds each call of CMSIS-NN as it is made: sizes, offsets, multipliers, scratch. The linter
judges these calls, and what the kernels of the backend refuse. Operators of other namespaces (`aten::add`) are
ExecuTorch's own code, without a predicted cost; so are copies between memory orders. What a delegate does is not
looked at. `layers` also names the operators that a build has to register (`EXECUTORCH_SELECT_OPS_LIST`). The arena is
what the file plans; the method allocator comes on top.

Scratch is planned for one instruction set, which the program does not name. [CNN401](rules/CNN401.md) and
[CNN402](rules/CNN402.md), with the cause `plan`, tell what it was planned for, and what happens on another core.
Programs of 1.3 and older allocate scratch when they run. A `.pte` file is not fixed. Names and arguments of operators
are those of 1.1 to 1.5.1. The linter was compared with no run of ExecuTorch.

## What runs of a recurrent net?

* UNIDIRECTIONAL_SEQUENCE_LSTM in int8 or int16 with an int16 cell state is `arm_lstm_unidirectional_s8` or `_s16`, from
  6.0.0 on; in float it is reference code.
* SVDF is `arm_svdf_state_s16_s8` with an int16 state, and `arm_svdf_s8` with an int8 one.
* Of WHILE each layer of the body is judged as if it stood alone; the loop itself is no layer.
* For GRU and RNN of an ONNX model there is no function of CMSIS-NN, and no operator of TensorFlow Lite Micro: what a
  converter makes of them runs.

The instructions of LSTM and SVDF are not known: the kernels were not measured, and the total leaves them out.

Five nets of Keras (12 steps of 10 features, 16 units, a dense layer for 3 classes, one sample, random weights) were
converted to int8 with TensorFlow 2.21.0 and Keras 3.15.1, and ran in PyPI's tflite-micro, which has reference kernels.
For Cortex-M4 the linter says:

| net | layers in CMSIS-NN | in reference code | bytes of arena |
|---|---|---|---|
| `LSTM(16, unroll=True)` | 70 | 94 | 42,448 |
| `GRU(16, unroll=True)` | 102 | 93 | 45,520 |
| `SimpleRNN(16, unroll=True)` | 35 | 13 | 12,616 |
| two `Conv1D(16, 3, padding="causal")`, the second with dilation 2, and a global average | 5 | 1 | 3,136 |
| two `Conv1D(16, 3)`, the second with dilation 2, and `Flatten` | 3 | 0 | 1,968 |

An unrolled net runs, but sigmoids, tanhs, slices and sums of unequal shapes are reference code, and the arena is ten
times that of a net of convolutions over time, which stays in CMSIS-NN. Only training says whether it learns the task.

In 16x8 the converter gives dense layers a scale for each output, which CMSIS-NN's build of TensorFlow Lite Micro
refuses. With `converter._experimental_disable_per_channel_quantization_for_dense_layers = True` they have one: of the
net of `Conv1D` and `Flatten` all three layers are CMSIS-NN's, and nothing of `LSTM(16, unroll=True)` is refused.

`LSTM(16)` and `GRU(16)` without `unroll=True` were not converted: the process of the converter ended with a
segmentation fault while it calibrated them.

UNIDIRECTIONAL_SEQUENCE_LSTM carries no state from one run to the next: TensorFlow Lite Micro 90b983c2 gives CMSIS-NN no
hidden state, and a cell state in scratch (`cmsis_nn/unidirectional_sequence_lstm.cc:287`) that starts from zeros.

## Which revisions are reviewed?

| runtime | revision | since | CMSIS-NN | judged by the rows of |
|---|---|---|---|---|
"""

STATUS = """
## What becomes of an error in TensorFlow Lite Micro?

"""

HOSTS = """
## The device and the desktop

The same quantized model need not give the same integers on a device as in LiteRT or ONNX Runtime. The device multiplies
a sum by a number of 31 bits, and rounds twice where the shift is negative: to 2^-n first, then to a whole step. Desktop
kernels round once, most of them a float. Random numbers come out one step apart in 1 of 2^(n+1): 25 % at a shift of
-1, 12.5 % at -2, 3.1 % at -4, 0.8 % at -6. They come out equal where the shift is 0 or more and the host rounds halves
up, and where both are clamped.

`onnxlint-cmsis layers --against-host FILE` tells it of a model, as in [commands](commands.md#what-does-each-layer-do):

* A step is one unit of the layer's result. Each bound holds for equal inputs. `up to 0.4 %` is the part of random
  results that differs where none is clamped. `not bounded` comes with its reason.
* The bound of an output takes every layer's worst case through all weights, which no input may reach. Deep models have
  none. So compare outputs by what they decide, such as the class, and layers by these bounds.
* An operator that the device refuses, or computes wrongly, has no bound.
* Layers of a `.tflite` file are held against LiteRT as it is shipped (`litert`) and its reference kernels
  (`litert-reference`), layers of an ONNX model against ONNX Runtime with CMSIS-NN called directly. There a layer of
  int8 is one step off at most, one of int16 two; outputs have a bound where no layer may be off.
* To reproduce a device on a desktop, run LiteRT with `OpResolverType.BUILTIN_REF`: only dense layers, and few others of
  the table, differ there. PyPI's `tflite-micro` computes the device's integers.

The linter knows the host's kernels from <versions>, on x86-64 with one thread; other processors may have other
code. The first row that fits a layer holds. `seen` is what random layers gave, over scales that make all these shifts.

| operators | data | host | at most | why | source | seen |
|---|---|---|---|---|---|---|
"""
HOSTS_END = """
Other operators on float compute in float, where the last bits may differ; what is not in the table was not measured.
"""

CONDITION_HEAD = """
## {title}: what becomes of layers of ONNX models?

The first row of an operator that holds decides. Where none holds, the function of CMSIS-NN is called. Sources without a
folder lie in `tensorflow/lite/micro/kernels/`.

| operators | verdict | finding | reason | when | source |
|---|---|---|---|---|---|
"""


def runtimes_page() -> str:
    """The whole page."""
    sections = {"tvm": tvm_table()}
    tables = "".join(
        sections.get(name, "") + _conditions(name, rows)
        for name, rows in ((name, conditions_of(name)) for name in (TFLM, *REVIEWED))
    )
    said: dict[str, list[str]] = {}
    for row in STATUS_OF_TFLM:
        said.setdefault(row.text, []).append(f"{', '.join(row.functions)} (`{_short(row.source)}`)")
    uses = "".join(f"* {', '.join(functions)}: {text}.\n" for text, functions in said.items())
    return f"{_head()}{_revisions()}{STATUS}{uses}{_hosts()}{tables}"


def _head() -> str:
    """The head with the codes of the two rules it speaks of."""
    return HEAD.replace("<pad>", code_of("padding")).replace("<mean>", f"{code_of('reference code')}[mean]")


def _hosts() -> str:
    """What the device and runtimes of a desktop may differ in."""
    versions = " and ".join(sorted({host.measured.split(",")[0].split(" on ")[0] for host in TFLITE_HOSTS}))
    return HOSTS.replace("<versions>", versions) + "".join(map(_host_row, ROWS)) + HOSTS_END


def _host_row(row: HostRow) -> str:
    kinds, hosts = ", ".join(row.kinds) or "any", ", ".join(f"`{host.key}`" for host in row.hosts)
    source = f"`{row.source}`" if row.source else ""
    return f"| {', '.join(row.ops)} | {kinds} | {hosts} | {row.most} | {row.why} | {source} | {row.measured} |\n"


def _revisions() -> str:
    runtimes = [runtime_of(f"tflm@{row.commit}") for row in REVISIONS]
    return "".join(_revision(runtime) for runtime in (*runtimes, *REVIEWED.values()))


def _revision(row: Runtime) -> str:
    older: dict[str, list[str]] = {}
    for entry, release in row.older:
        older.setdefault(release, []).append(entry)
    others = "".join(f"; {', '.join(entries)}: {release}" for release, entries in older.items())
    return f"| `{row.name}` | {row.commit[:8]} | {row.since} | {row.cmsis_nn} | {row.release}{others} |\n"


def _conditions(name: str, rows: tuple[ConditionRow, ...]) -> str:
    title = runtime_of(name).title
    return CONDITION_HEAD.format(title=title) + "".join(map(_condition, _merged(rows)))


def _merged(rows: tuple[ConditionRow, ...]) -> list[list[ConditionRow]]:
    """Rows that say the same together, where no row of the same operator stands between them."""
    groups: list[list[ConditionRow]] = []
    for row in rows:
        said = (row.verdict, row.cause, row.reason, row.since, row.until)
        for index in range(len(groups) - 1, -1, -1):
            group = groups[index]
            first = group[0]
            alike = said == (first.verdict, first.cause, first.reason, first.since, first.until)
            if alike and bool(row.ops) == bool(first.ops):
                group.append(row)
                break
            if any(not row.ops or not other.ops or {*row.ops} & {*other.ops} for other in group):
                groups.append([row])
                break
        else:
            groups.append([row])
    return groups


def _condition(rows: list[ConditionRow]) -> str:
    """One line of rows that differ in operators and sources."""
    row = rows[0]
    operators = ", ".join(dict.fromkeys(op for other in rows for op in other.ops)) or "others"
    sources = ", ".join(dict.fromkeys(_short(other.source) for other in rows))
    reason = row.reason.replace("no operator {op}", "no such operator").format(
        op="the operator", refusal="it has a type, a number of axes or of inputs that its checks do not take"
    )
    finding = f"{code_of(kind_of(row.verdict, row.cause))}[{row.cause}]" if row.cause else ""
    days = " ".join(filter(None, (row.since and f"from {row.since}", row.until and f"until {row.until}")))
    return f"| {operators} | {row.verdict.value} | {finding} | {reason} | {days} | `{sources}` |\n"


def _short(source: str) -> str:
    """A source without the folder that most share."""
    return source.replace("tensorflow/lite/micro/kernels/", "")
