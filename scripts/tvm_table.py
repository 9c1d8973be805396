"""The table of the patterns in TVM's RFC: what is called, what the partitioner takes, and what not, from the rules."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tvm_conditions import ROWS
from onnxlint_cmsis.runtimes.tvm_patterns import FILE, PATTERNS, PartitionPattern

RFC = "https://github.com/apache/tvm-rfcs/blob/main/rfcs/0015_Arm_CMSIS-NN_Integration.md"
HEAD = f"""
## TVM: what became of its RFC's patterns

[RFC 0015]({RFC})
planned that TVM finds layers for CMSIS-NN by patterns in Relay. It names softmax, convolution, depthwise convolution,
fully connected, pooling and matrix product; sums and products of tensors came with the code. The patterns were in TVM
up to 0.18.0 (`{FILE}`, read at 513c2be0, not run).

| layer | pattern in Relay | functions called | taken | why not, or not right | lines |
|---|---|---|---|---|---|
"""
REMARKS = """
The patterns are those that TVM's reader of TensorFlow Lite files writes, and the rows below are for a model that comes
that way. An ONNX model needs more:

* a pass to NHWC (`ConvertLayout`), which pools are checked for and convolutions count on;
* for Q/DQ pairs the pass `FakeQuantizationToInteger`, which `partition_for_cmsisnn` does not run. Without it softmax
  alone matches. With it an average pool becomes `qnn.avg_pool2d` and a Relu `maximum`
  (`python/tvm/relay/transform/fake_quantization_to_integer.py:153, 426`), which no pattern has.

A convolution with one input channel is called as a depthwise one
(`src/relay/backend/contrib/cmsisnn/convolutions.cc:32-41`): `--one-channel depthwise` judges it so.
"""
WORDS = {
    RuntimeVerdict.REFERENCE: "Left to TVM's own code",
    RuntimeVerdict.REFUSED: "An error",
    RuntimeVerdict.WRONG: "Wrong values",
}
"""What a verdict is for TVM."""


def tvm_table() -> str:
    """The section of the page."""
    return HEAD + "".join(map(_row, PATTERNS)) + REMARKS


def _row(pattern: PartitionPattern) -> str:
    called = ", ".join(f"`{name}`" for name in pattern.functions) or "none"
    taken = pattern.taken or "never"
    cells = (pattern.layer, pattern.relay or "none", called, taken, _against(pattern), pattern.lines)
    return f"| {' | '.join(cells)} |\n"


def _against(pattern: PartitionPattern) -> str:
    """The rows that speak of a pattern's operators, by what becomes of the layer."""
    if not pattern.relay:
        return f"{WORDS[RuntimeVerdict.REFERENCE]}: there is no pattern"
    rows = [row for row in ROWS if set(row.ops) & set(pattern.ops)]
    parts = []
    for verdict, words in WORDS.items():
        reasons = [row.reason for row in rows if row.verdict is verdict]
        parts += [f"{words}: {'; '.join(reasons)}"] if reasons else []
    return ". ".join(parts)
