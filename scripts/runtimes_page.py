"""The page of runtimes: what each hands to CMSIS-NN, from the rows of its conditions."""

from __future__ import annotations

from onnxlint_cmsis.checks.run_checks import code_of
from onnxlint_cmsis.runtimes.condition_rows import ConditionRow
from onnxlint_cmsis.runtimes.judge import CONDITIONS
from onnxlint_cmsis.runtimes.runtime import REVIEWED, Runtime, runtime_of
from onnxlint_cmsis.runtimes.status_use import TFLM
from onnxlint_cmsis.runtimes.tflm.revisions import REVISIONS
from tvm_table import tvm_table

HEAD = """# Runtimes

Most firmware does not call CMSIS-NN itself: a runtime does, and decides what it hands over. `--runtime` (`runtime` in
the configuration) says which one: `direct` is the application itself, calling the functions as their wrappers want;
it is the default for `.onnx` files. `tflm` (TensorFlow Lite Micro) is the default for `.tflite` files, and the only
one that reads them: where another is asked for, they are judged for `tflm`, and a note says so (`memory` refuses).
`executorch` is the cortex_m backend of ExecuTorch, `tvm` the partitioner of TVM up to 0.18.0.

With `@` follows a commit or a date: `tflm@2026-06`, `tflm@90b983c2`. Revisions that are not reviewed are refused. A
runtime brings its own CMSIS-NN, and that is the one judged; `--release` names another.

An ONNX model does not reach TensorFlow Lite Micro as it is: a converter stands between, and what it writes decides. A
finding says "may" where converters differ. To be certain, convert the model and lint the result:

```sh
onnx2tf -i model.onnx -o converted -oiqt -cind x samples.npy "[[[[0,0,0]]]]" "[[[[1,1,1]]]]"
onnxlint-cmsis converted/model_full_integer_quant.tflite
onnxlint-cmsis layers converted/model_full_integer_quant.tflite
onnxlint-cmsis memory converted/model_full_integer_quant.tflite
```

`samples.npy` holds inputs to calibrate with, channels last; the two lists are mean and deviation of each channel. Of
what onnx2tf writes, `full_integer_quant` is int8 from end to end, `integer_quant` has float inputs and outputs with a
QUANTIZE and a DEQUANTIZE in reference code, and TensorFlow Lite Micro runs no CMSIS-NN for `dynamic_range_quant`.

This was run with onnx2tf 1.29.24, tensorflow 2.19.0 and Python 3.11, on a float model of a strided convolution, a
depthwise and a pointwise one, a sum, a global average, a dense layer and a softmax. Linting the ONNX model for `tflm`
and linting `full_integer_quant` say the same: the first padding becomes a PAD (<pad> for the ONNX model, `arm_pad_s8`
in the file), and the average becomes a MEAN in reference code (<mean> in both). On Cortex-M4 the convolutions, the sum
and the softmax have the same predicted instructions in both. The converter made some choices. PAD is a separate
operator with another buffer: the arena has 8,132 bytes, the plan of the ONNX model 7,168. The dense layer has a scale
for each output. The activations are fused into the layers in front.

On these things the converter decides: PAD or SAME padding, MEAN or AVERAGE_POOL_2D for a global average, which
activations are fused, whether dense weights have one scale or one for each output, a bias of zeros where there is
none, and all scales of a float model. Findings that hang on them carry the property `converter_decides`, and the note
on the runtime names their codes.

For a `.tflite` file the converter has decided: functions, refusals and bytes of the arena agree with recorded runs of
real firmware on Cortex-M4, M55 and a scalar core.

## `.tflite` files

The linter says the same of a `.tflite` file as of an ONNX model: kernels, hazards, channel counts that move together,
channels that do nothing, the cost of other counts. Tensors keep the layouts of TensorFlow Lite (NHWC data, OHWI
weights), and scales per channel stay on their tensors. Operators go by the names of the schema and their number,
`CONV_2D#12`.

A layer is priced by the call that TensorFlow Lite Micro makes for it, at present and at other sizes. A dense layer
with a result of more than two axes is not priced at other sizes, since its depth decides which function takes it.
Reference code has no predicted cost; channels along it are added only to step around an error or a wrong result.

A channel is dead where its values are the same for every input, or where no layer reads it. Integer kernels round a
product twice; a constant counts as known only where that makes no difference.

## Revisions

| runtime | revision | since | CMSIS-NN | judged by the rows of |
|---|---|---|---|---|
"""

STATUS = """
## What becomes of an error

What a user of TensorFlow Lite Micro sees where a function of CMSIS-NN returns an error.

| functions | what happens | source |
|---|---|---|
"""

CONDITION_HEAD = """
## {title}: layers of ONNX models

The first row that holds decides. Where none does, the layer's function of CMSIS-NN is called.

| operators | verdict | reason | since | until | source |
|---|---|---|---|---|---|
"""


def runtimes_page() -> str:
    """The whole page."""
    sections = {"tvm": tvm_table()}
    tables = "".join(sections.get(name, "") + _conditions(name, rows) for name, rows in CONDITIONS.items())
    uses = "".join(f"| {', '.join(row.stems)} | {row.text} | `{row.source}` |\n" for row in TFLM)
    return f"{_head()}{_revisions()}{STATUS}{uses}{tables}"


def _head() -> str:
    """The head with the codes of the two rules it speaks of."""
    return HEAD.replace("<pad>", code_of("runtime-padding")).replace("<mean>", code_of("runtime-mean"))


def _revisions() -> str:
    found = [runtime_of(f"tflm@{row.commit}") for row in REVISIONS]
    return "".join(_revision(each) for each in (*found, *REVIEWED.values()))


def _revision(row: Runtime) -> str:
    older = "".join(f", {entry} by those of {release}" for entry, release in row.older)
    return f"| `{row.name}` | {row.commit[:8]} | {row.since} | {row.cmsis_nn} | {row.release}{older} |\n"


def _conditions(name: str, rows: tuple[ConditionRow, ...]) -> str:
    title = runtime_of(name).title
    return CONDITION_HEAD.format(title=title) + "".join(_condition(row) for row in rows)


def _condition(row: ConditionRow) -> str:
    operators = ", ".join(row.ops) or "others"
    reason = row.reason.format(op="the operator")
    return f"| {operators} | {row.verdict.value} | {reason} | {row.since} | {row.until} | `{row.source}` |\n"
