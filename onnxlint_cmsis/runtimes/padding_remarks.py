"""What is to be said of layers whose padding TensorFlow Lite does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.graph.node_location import node_location
from onnxlint_cmsis.runtimes.remark import RuntimeRemark, named
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict
from onnxlint_cmsis.runtimes.tflite_padding import becomes_slice, loses_padding
from onnxlint_cmsis.types import KernelCall, Level

PAD_IN_FRONT = (
    "TensorFlow Lite has no padding but SAME and VALID, so that a PAD operator comes in front, and the layer is judged "
    "without padding."
)
NO_SUCH_PADDING = (
    "AVERAGE_POOL_2D has no padding but SAME and VALID, and the zeros of a PAD would count: what the converter writes "
    "in its place decides; the layer is judged as it stands."
)
SLICE_BEHIND = (
    "TRANSPOSE_CONV has no padding but SAME and VALID, so that a SLICE or STRIDED_SLICE comes behind, in reference "
    "code; the layer is judged as it stands."
)


def padding_remarks(path: str, padded: list[Node], calls: Sequence[tuple[Node, KernelCall]]) -> Iterator[RuntimeRemark]:
    """One for each way in which a converter gets round it; `padded` are layers behind a PAD."""
    lost = [node for node, call in calls if loses_padding(call)]
    cut = [node for node, call in calls if becomes_slice(call)]
    for nodes, what in ((padded, PAD_IN_FRONT), (lost, NO_SUCH_PADDING), (cut, SLICE_BEHIND)):
        if nodes:
            labels = tuple(node.label for node in nodes)
            text, place = f"{named(labels)}: {what}", node_location(path, nodes[0])
            verdict, kind = RuntimeVerdict.CMSIS_NN, "runtime-padding"
            yield RuntimeRemark(kind, verdict, text, place, labels, level=Level.NOTE, converter=True)
