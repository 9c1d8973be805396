"""Remarks on layers whose padding TensorFlow Lite does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.ground.types import KernelCall, Level
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.node_location import node_location
from onnxlint_cmsis.runtimes.remark import RuntimeRemark, named
from onnxlint_cmsis.runtimes.tflite_padding import becomes_slice, loses_padding

PAD_IN_FRONT = (
    "a PAD operator comes in front, and the layer is judged without padding: TensorFlow Lite has no padding but SAME "
    "and VALID."
)

NO_SUCH_PADDING = (
    "what the converter writes in its place decides, and the layer is judged as it stands: AVERAGE_POOL_2D has no "
    "padding but SAME and VALID, and the zeros of a PAD would count."
)

SLICE_BEHIND = (
    "a SLICE or STRIDED_SLICE comes behind, in reference code, and the layer is judged as it stands: TRANSPOSE_CONV "
    "has no padding but SAME and VALID."
)


def padding_remarks(path: str, padded: list[Node], calls: Sequence[tuple[Node, KernelCall]]) -> Iterator[RuntimeRemark]:
    """One for each way in which a converter gets round it; `padded` are layers behind a PAD."""
    lost = [node for node, call in calls if loses_padding(call)]
    cut = [node for node, call in calls if becomes_slice(call)]
    for nodes, what in ((padded, PAD_IN_FRONT), (lost, NO_SUCH_PADDING), (cut, SLICE_BEHIND)):
        if nodes:
            labels = tuple(node.label for node in nodes)
            text, location = f"{named(labels)}: {what}", node_location(path, nodes[0])
            verdict, cause = Outcome.CMSIS_NN, "padding"
            yield RuntimeRemark(cause, verdict, text, location, labels, level=Level.NOTE, converter=True)


CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
PAIRS = ("ADD", "MUL")
