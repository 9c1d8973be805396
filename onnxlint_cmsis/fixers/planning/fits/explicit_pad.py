"""The padding of a convolution as a Pad node in front."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.runtimes.tflite_padding import behind_pad

PAD_SINCE = 11
"""First operator set whose Pad takes the pad_amounts as an input and integers as data."""


def refusal_of_explicit_pad(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the padding cannot stand in front of the layer."""
    node = record.node
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)} already"
    if pad_amounts(graph, record) is None:
        return "its padding is not known, as sizes are symbolic"
    if max((node.opset for node in graph.nodes if node.domain == ""), default=0) < PAD_SINCE:
        return f"Pad takes its pad_amounts as an input from operator set {PAD_SINCE} on"
    carried = parameters_of(node, operator_of(node).roles.first)
    if carried is None and record.inputs and input_dequantizer(graph, record) is None:
        return "its input does not come from a DequantizeLinear"
    return None


def pad_amounts(graph: Graph, record: LoweredLayer) -> tuple[int, ...] | None:
    """What ONNX's Pad takes for the layer's padding; None where a number is not known."""
    if record.layer is None:
        return None
    call, axes = record.layer.call, len(graph.shape(record.node.outputs[0]) or ()) - 2
    sides = (call.padding, call.pad_after)
    numbers = [side[2 - axes :] for side in sides]
    if axes not in (1, 2) or any(number is None for side in numbers for number in side):
        return None
    before, after = (tuple(int(number or 0) for number in side) for side in numbers)
    return (0, 0, *before, 0, 0, *after)


def input_dequantizer(graph: Graph, record: LoweredLayer) -> Node | None:
    """The DequantizeLinear that makes a layer's input."""
    node = record.node
    producer = graph.producers.get(node.inputs[operator_of(node).roles.first])
    return producer if producer is not None and operator_of(producer).dequantizes else None


REPAIRED_BY_PAD = (
    "conv-1x1-fast-padding-after",
    "conv-1x1-padding-after",
    "conv-1x1-s4-fast-padding-after",
    "conv-1x1-s4-padding-after",
    "conv-1xn-one-row",
    "conv-1xn-one-row-5",
    "conv-1xn-s4-one-row",
    "conv-1xn-window-in-padding",
    "conv-1xn-window-outside",
    "dw-3x3-padding-refused",
    "dw-3x3-padding-after",
    "dw-opt-window-outside",
    "dw-fast-s16-window-outside",
    "dw-s4-opt-window-outside",
)
"""Kernels that know no padding after, none beyond their window, or none of rows."""


def _padded(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        yield behind_pad(record.layer.call)


EXPLICIT_PAD = RepairRow(
    name="explicit-pad",
    what="pads in a Pad node in front of the layer",
    hazards=frozenset(REPAIRED_BY_PAD),
    price="a padded copy of the input",
    unfit=refusal_of_explicit_pad,
    calls=_padded,
)
