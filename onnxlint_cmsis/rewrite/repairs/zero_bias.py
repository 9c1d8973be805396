"""A bias of zeros for a convolution without one, where the kernel adds offsets to the address of a missing bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.bias import DEQUANTIZED, FLOAT, bias_slot
from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.operators.quantization_operators import DEQUANTIZE_LINEAR
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.bias import BiasSlot
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer can take no bias."""
    slot = bias_slot(graph, record.node)
    if slot is None or slot.kind == FLOAT:
        return "the unit of its sums is not known, so that a bias cannot be quantized"
    return "it has a bias" if slot.tensor else ""


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Store int32 zeros, behind a DequantizeLinear of input scale times weight scale where the layer wants reals."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    like = f"{node.name or node.outputs[0]}_bias"
    name = edit.add_constant(like, "int32", np.zeros(channels, "<u4"))
    if slot.kind == DEQUANTIZED:
        name = _dequantized(edit, node, slot, name)
    edit.connect(node, slot.position, name)
    return RepairMade("gets a bias of zeros", (node.outputs[0],))


def _dequantized(edit: GraphEdit, node: Node, slot: BiasSlot, zeros: str) -> str:
    scales = np.array(slot.scales, "<f4").view("<u4")
    scales = scales if scales.size > 1 else scales.reshape(())
    scale = edit.add_constant(f"{zeros}_scale", "float32", scales)
    reals = edit.fresh(f"{zeros}_real")
    axis = {"axis": 0} if scales.ndim else {}
    edit.insert(node, DEQUANTIZE_LINEAR.name, [zeros, scale], [reals], domain=_domain(edit.graph, node), **axis)
    return reals


def _domain(graph: Graph, node: Node) -> str:
    """Domain of the DequantizeLinear that makes the weights real."""
    producer = graph.producers[node.inputs[operator_of(node).roles.weights[0]]]
    while not operator_of(producer).dequantizes:
        producer = graph.producers[producer.inputs[0]]
    return producer.domain


ZERO_BIAS = RepairRow(
    name="zero-bias",
    what="gives the layer a bias of zeros",
    hazards=frozenset({"conv-grouped-no-bias", "dw-opt-no-bias", "dw-s4-opt-no-bias"}),
    price="4 bytes for each output channel, and their addition",
    free=True,
    refusal=refusal,
    apply=apply,
)
