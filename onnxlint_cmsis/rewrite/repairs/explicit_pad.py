"""The padding of a convolution as a Pad node in front, where the kernel cannot pad as the layer asks.

arm_pad_s8 (from 7.0.0 on; plain code before) then writes the padded input, and the kernel pads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.lower.operands import operands, parameters_of
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.slicing_operators import PAD
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

SINCE = 11
"""First operator set whose Pad takes the amounts as an input and integers as data."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the padding cannot stand in front of the layer."""
    node = record.node
    if record.folded:
        return f"its padding is that of {', '.join(record.folded)} already"
    if amounts(graph, record) is None:
        return "its padding is not known, as sizes are symbolic"
    if _default_opset(graph) < SINCE:
        return f"Pad takes its amounts as an input from operator set {SINCE} on"
    carried = parameters_of(node, operands(node.domain, node.op_type).activation)
    if carried is None and record.inputs and _dequantizer(graph, record) is None:
        return "its input does not come from a DequantizeLinear"
    return ""


def amounts(graph: Graph, record: LoweredLayer) -> tuple[int, ...] | None:
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


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the Pad in front, between DequantizeLinear and QuantizeLinear where the layer has these."""
    pads = amounts(edit.graph, record)
    if pads is None or not any(pads):
        raise NotAppliedError(f"{record.node.label} has no padding")
    made = padded(edit, record, pads)
    edit.set_attributes(record.node, "auto_pad", pads=[0] * (len(pads) - 4))
    text = f"is padded by a Pad node in front ({_words(pads)}), whose cost is not counted"
    return RepairMade(text, (made, record.node.outputs[0]))


def padded(edit: GraphEdit, record: LoweredLayer, pads: tuple[int, ...]) -> str:
    """Put a Pad of these amounts in front of a layer; returns what it makes."""
    node, graph = record.node, edit.graph
    where = operands(node.domain, node.op_type).activation
    tensor, result = node.inputs[where], edit.fresh(f"{node.inputs[where]}_padded")
    inputs = [tensor, edit.add_integers(f"{result}_amounts", pads)]
    carried = parameters_of(node, where)
    if carried is not None and len(node.inputs) > carried.zero_point and node.inputs[carried.zero_point]:
        inputs.append(node.inputs[carried.zero_point])
    edit.insert(node, PAD.name, inputs, [result])
    dequantizer = _dequantizer(graph, record) if carried is None and record.inputs else None
    edit.connect(node, where, edit.requantized(node, result, dequantizer) if dequantizer else result)
    return result


def _dequantizer(graph: Graph, record: LoweredLayer) -> Node | None:
    """The DequantizeLinear that makes a layer's input."""
    node = record.node
    producer = graph.producers.get(node.inputs[operands(node.domain, node.op_type).activation])
    return producer if producer is not None and operator_of(producer).dequantizes else None


def _default_opset(graph: Graph) -> int:
    return max((node.opset for node in graph.nodes if node.domain == ""), default=0)


def _words(pads: tuple[int, ...]) -> str:
    half = len(pads) // 2
    before, after = (", ".join(map(str, side)) for side in (pads[2:half], pads[half + 2 :]))
    return f"{before} before and {after} after"


HAZARDS = (
    "conv-1x1-fast-padding-after",
    "conv-1x1-padding-after",
    "conv-1x1-s4-fast-padding-after",
    "conv-1x1-s4-padding-after",
    "conv-1xn-window-in-padding",
    "conv-1xn-window-outside",
    "dw-3x3-padding-refused",
    "dw-3x3-padding-after",
    "dw-opt-window-outside",
    "dw-fast-s16-window-outside",
    "dw-s4-opt-window-outside",
)
"""Kernels that know no padding after, or none beyond their window."""
EXPLICIT_PAD = RepairRow(
    name="explicit-pad",
    what="pads in a Pad node in front of the layer",
    hazards=frozenset(HAZARDS),
    price="a Pad node, which copies the input, and the padded input in memory",
    free=False,
    refusal=refusal,
    apply=apply,
)
