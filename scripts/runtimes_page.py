"""The page of runtimes: what each hands to CMSIS-NN, from the rows of its conditions."""

from __future__ import annotations

from itertools import groupby

from onnxlint_cmsis.checks.run_checks import code_of
from onnxlint_cmsis.runtimes.conditions import conditions_of
from onnxlint_cmsis.runtimes.host import ROWS, TFLITE_HOSTS, HostRow
from onnxlint_cmsis.runtimes.runtime import REVIEWED, STATUS_OF_TFLM, TFLM, ConditionRow, Runtime, kind_of, runtime_of
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS
from tvm_table import tvm_table

HEAD = """# Runtimes

In most firmware a runtime calls CMSIS-NN, and decides which layers it hands over. `--runtime` (`runtime` in the
configuration) names the runtime:

| name | who calls CMSIS-NN | default for |
|---|---|---|
| `direct` | the application, as the wrappers of CMSIS-NN expect | `.onnx` files |
| `tflm` | TensorFlow Lite Micro | `.tflite` files |
| `executorch` | the cortex_m backend of ExecuTorch | `.pte` files |
| `tvm` | the partitioner of TVM up to 0.18.0 | |

Only `tflm` reads `.tflite` files, and only `executorch` reads `.pte` files. With another runtime the linter
judges them for their own one and says so in a note; `memory` refuses.

`@` and a commit or a date choose a revision: `tflm@2026-06`, `tflm@90b983c2`; of ExecuTorch also a release,
`executorch@1.4.1`. The linter refuses revisions that were not reviewed. A runtime brings its own CMSIS-NN, and the
linter judges that one; `--release` names another.

A converter turns an ONNX model into a `.tflite` file for TensorFlow Lite Micro. Converters differ, and where that
matters a finding says "may". To be certain, convert the model and lint the result:

```sh
onnx2tf -i model.onnx -o converted -oiqt -cind x samples.npy "[[[[0,0,0]]]]" "[[[[1,1,1]]]]"
onnxlint-cmsis converted/model_full_integer_quant.tflite
onnxlint-cmsis layers converted/model_full_integer_quant.tflite
onnxlint-cmsis memory converted/model_full_integer_quant.tflite
```

`samples.npy` holds inputs for the calibration, channels last. The two lists are mean and deviation of each channel.
onnx2tf writes several files:

* `full_integer_quant` is int8 from end to end.
* `integer_quant` has float inputs and outputs, with a QUANTIZE and a DEQUANTIZE in reference code.
* `dynamic_range_quant` makes TensorFlow Lite Micro run no CMSIS-NN.

These commands ran with onnx2tf 1.29.24, tensorflow 2.19.0 and Python 3.11. The float model had a strided convolution,
a depthwise and a pointwise one, a sum, a global average, a dense layer and a softmax. The linter said the same of the
ONNX model (for `tflm`) and of `full_integer_quant`: the first padding becomes a PAD (<pad> for the ONNX model,
`arm_pad_s8` in the file), and the average becomes a MEAN in reference code (<mean> in both). On Cortex-M4 the
convolutions, the sum and the softmax have the same predicted instructions in both. The converter made three choices.
PAD is a separate operator with its buffer: the arena has 8,132 bytes, the plan of the ONNX model 7,168. The dense layer
has a scale for each output. The activations are fused into the layers in front.

The converter decides on:

* PAD or SAME padding;
* MEAN or AVERAGE_POOL_2D for a global average;
* which activations are fused;
* one scale for all dense weights, or one for each output;
* a bias of zeros where the model has no bias;
* all scales of a float model.

Findings that depend on these carry the property `converter_decides`, and the note on the runtime names their codes.

In a `.tflite` file all this is decided. Functions, refusals and bytes of the arena agree with recorded runs of real
firmware on Cortex-M4, M55 and a scalar core.

## `.pte` files

A program of ExecuTorch holds each call of CMSIS-NN as it is made: sizes, offsets, multipliers, and scratch as planned
memory. The linter judges these calls: kernel, hazards, cost, and what the kernels of the backend refuse. Operators of
other namespaces (`aten::add`) are ExecuTorch's own code, with their data type and without a predicted cost; so are
copies between memory orders. What a delegate does is not looked at. `layers` also names the operators that a build
has to register (`EXECUTORCH_SELECT_OPS_LIST`). The arena is what the file plans; the method allocator comes on top.

Scratch is planned for one instruction set, which the program does not name. [CNN401](rules/CNN401.md) and
[CNN402](rules/CNN402.md), with the cause `plan`, tell what it was planned for, and what happens on another core.
Programs of 1.3 and older allocate scratch when they run.

A `.pte` file is not fixed: its multipliers and memory follow from the model that it was exported from. Names and
arguments of operators are those of 1.1 to 1.5.1. The linter was compared with no run of ExecuTorch.

## `.tflite` files

The linter says the same of a `.tflite` file as of an ONNX model: kernels, hazards, channel counts that move together,
channels that do nothing, the cost of other counts. Tensors keep the layouts of TensorFlow Lite (NHWC data, OHWI
weights), and their scales per channel. A name such as `CONV_2D#12` has the operator of the schema and its number.

The cost of a layer is that of the call that TensorFlow Lite Micro makes for it. A dense layer with a result of more
than two axes has no cost at other sizes: its depth decides which function takes it. Reference code has no predicted
cost: next to it a fix adds channels only to avoid an error or a wrong result.

A channel is dead where its values are the same for every input, or where no layer reads it. Integer kernels round a
product twice. The linter takes a value for a constant only where that rounding makes no difference.

A streaming model keeps its state in resource variables. The arena holds their values and the table of as many variables
as the model names, which the application makes with `MicroResourceVariables::Create`; `memory` shows the table as
`resource_variables`. An application that makes it in another arena does without that part, rounded up to 16 bytes. The
arenas of four such models were compared with those of firmware, to the byte.

What CALL_ONCE runs, the first run alone computes: its layers are judged and listed, and count in no sum of instructions
or multiply-accumulates. Operators outside the main subgraph have its number in front: `subgraph1:CONV_2D#1`.

TensorFlow Lite Micro has kernels for some custom operators: TFLM_DECODE, which unpacks compressed constants, and those
of its audio front end. Messages name the method of the resolver that registers them. With TFLM_DECODE the arena is
known, with the others it is not.

## Revisions

| runtime | revision | since | CMSIS-NN | judged by the rows of |
|---|---|---|---|---|
"""

STATUS = """
## What becomes of an error

The table says what TensorFlow Lite Micro does when a function of CMSIS-NN returns an error.

| functions | what happens | source |
|---|---|---|
"""

HOSTS = """
## The device and the desktop

The same quantized model need not give the same integers on a device as in LiteRT or ONNX Runtime. The device multiplies
a sum by a number of 31 bits, and rounds twice where the shift is negative: to 2^-n first, then to a whole step. Desktop
kernels round once, most of them a float. Random numbers come out one step apart in 1 of 2^(n+1): 25 % at a shift of
-1, 12.5 % at -2, 3.1 % at -4, 0.8 % at -6. They come out equal where the shift is 0 or more and the host rounds halves
up, and where both are clamped.

`onnxlint-cmsis layers --against-host FILE` tells it of a model, as in [commands](commands.md#single-questions):

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
## {title}: layers of ONNX models

The first row that holds decides. Where no row holds, the runtime calls the layer's function of CMSIS-NN.

| operators | verdict | finding | reason | since | until | source |
|---|---|---|---|---|---|---|
"""


def runtimes_page() -> str:
    """The whole page."""
    sections = {"tvm": tvm_table()}
    tables = "".join(
        sections.get(name, "") + _conditions(name, rows)
        for name, rows in ((name, conditions_of(name)) for name in (TFLM, *REVIEWED))
    )
    uses = "".join(f"| {', '.join(row.functions)} | {row.text} | `{row.source}` |\n" for row in STATUS_OF_TFLM)
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
    found = [runtime_of(f"tflm@{row.commit}") for row in REVISIONS]
    return "".join(_revision(each) for each in (*found, *REVIEWED.values()))


def _revision(row: Runtime) -> str:
    older = "".join(f", {entry} by those of {release}" for entry, release in row.older)
    return f"| `{row.name}` | {row.commit[:8]} | {row.since} | {row.cmsis_nn} | {row.release}{older} |\n"


def _conditions(name: str, rows: tuple[ConditionRow, ...]) -> str:
    title = runtime_of(name).title
    groups = groupby(rows, key=lambda row: (row.ops, row.verdict, row.reason, row.since, row.until))
    return CONDITION_HEAD.format(title=title) + "".join(_condition(*same) for _, same in groups)


def _condition(row: ConditionRow, *more: ConditionRow) -> str:
    """One line of rows that differ in the line of their source alone."""
    operators = ", ".join(row.ops) or "others"
    source = ", ".join((row.source, *(other.source.rpartition(":")[2] for other in more)))
    reason = row.reason.replace("no operator {op}", "no such operator").format(
        op="the operator", refusal="it has a type, a number of axes or of inputs that its checks do not take"
    )
    finding = f"{code_of(kind_of(row.verdict, row.cause))}[{row.cause}]" if row.cause else ""
    return f"| {operators} | {row.verdict.value} | {finding} | {reason} | {row.since} | {row.until} | `{source}` |\n"
