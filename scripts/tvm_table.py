"""The table of the patterns in TVM's RFC: functions called, what the partitioner takes, and what it leaves."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.conditions import FILE, PATTERNS, TVM_ROWS, PartitionPattern
from onnxlint_cmsis.runtimes.runtime import RuntimeVerdict

RFC = "https://github.com/apache/tvm-rfcs/blob/main/rfcs/0015_Arm_CMSIS-NN_Integration.md"
HEAD = f"""
## TVM: the patterns of its RFC

[RFC 0015]({RFC})
plans that TVM finds layers for CMSIS-NN by patterns in Relay. It names softmax, convolution, depthwise convolution,
fully connected, pooling and matrix product. The code added sums and products of tensors. TVM had the patterns up to
0.18.0 (`{FILE}`, read at 513c2be0, not run).

| layer | pattern in Relay | functions called | taken | why not, or not right | lines |
|---|---|---|---|---|---|
"""
REMARKS = """
TVM's reader of TensorFlow Lite files writes these patterns. The rows below are for a model that comes from it. An ONNX
model needs more:

* a pass to NHWC (`ConvertLayout`): the partitioner checks pools for NHWC, and takes it for granted in convolutions;
* for Q/DQ pairs the pass `FakeQuantizationToInteger`. `partition_for_cmsisnn` does not run it. Without it softmax alone
  matches. With it an average pool becomes `qnn.avg_pool2d`, and a Relu becomes `maximum`
  (`python/tvm/relay/transform/fake_quantization_to_integer.py:153, 426`). No pattern has these two.

TVM calls a convolution with one input channel as a depthwise one
(`src/relay/backend/contrib/cmsisnn/convolutions.cc:32-41`). `one-channel = "depthwise"` judges it in this way.
"""
WORDS = {
    RuntimeVerdict.REFERENCE: "Left to TVM's own code",
    RuntimeVerdict.REFUSED: "An error",
    RuntimeVerdict.WRONG: "Wrong values",
}
"""Verdict to its words on the page."""


def tvm_table() -> str:
    """The section of the page."""
    return HEAD + "".join(map(_row, PATTERNS)) + REMARKS


def _row(pattern: PartitionPattern) -> str:
    called = ", ".join(f"`{name}`" for name in pattern.functions) or "none"
    taken = pattern.taken or "never"
    cells = (pattern.layer, pattern.relay or "none", called, taken, _against(pattern), pattern.lines)
    return f"| {' | '.join(cells)} |\n"


def _against(pattern: PartitionPattern) -> str:
    """Reasons of the rows for a pattern's operators, by verdict."""
    if not pattern.relay:
        return f"{WORDS[RuntimeVerdict.REFERENCE]}: there is no pattern"
    rows = [row for row in TVM_ROWS if set(row.ops) & set(pattern.ops)]
    parts = []
    for verdict, words in WORDS.items():
        reasons = [row.reason for row in rows if row.verdict is verdict]
        parts += [f"{words}: {'; '.join(reasons)}"] if reasons else []
    return ". ".join(parts)
