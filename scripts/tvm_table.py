"""The table of the patterns in TVM's RFC: functions called, what the partitioner takes."""

from __future__ import annotations

from onnxlint_cmsis.runtimes.conditions import FILE, PATTERNS, PartitionPattern

RFC = "https://github.com/apache/tvm-rfcs/blob/main/rfcs/0015_Arm_CMSIS-NN_Integration.md"
HEAD = f"""
## TVM: which patterns does it take?

[RFC 0015]({RFC})
plans patterns in Relay; TVM had them up to 0.18.0 (`{FILE}`, read at 513c2be0, not run):

| layer | pattern in Relay | taken |
|---|---|---|
"""
REMARKS = """
TVM's reader of TensorFlow Lite files writes these patterns. An ONNX model needs a pass to NHWC (`ConvertLayout`) and,
for Q/DQ pairs, `FakeQuantizationToInteger`, which `partition_for_cmsisnn` does not run. Without it softmax alone
matches; with it an average pool becomes `qnn.avg_pool2d` and a Relu `maximum`, which no pattern has
(`python/tvm/relay/transform/fake_quantization_to_integer.py:153, 426`). A convolution with one input channel is
called as a depthwise one (`src/relay/backend/contrib/cmsisnn/convolutions.cc:32-41`); `one-channel = "depthwise"`
judges it so.
"""


def tvm_table() -> str:
    """The section of the page."""
    return HEAD + "".join(map(_row, PATTERNS)) + REMARKS


def _row(pattern: PartitionPattern) -> str:
    return f"| {pattern.layer} | {pattern.relay or 'none'} | {pattern.taken or 'never'} |\n"
