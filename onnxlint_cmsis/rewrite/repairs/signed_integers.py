"""uint8 between QuantizeLinear and DequantizeLinear as int8: 128 off each integer and off each zero-point.

Every real number stays what it was. Inputs and outputs of the model keep their type, and so do tensors that another
operator than these two makes or reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

OFFSET = 0x80
"""128, which is added to or taken off the bit pattern of 8 bits by flipping the highest one."""


def nodes(graph: Graph) -> Iterator[Node]:
    """The first node that reads a uint8 tensor which can be int8: one repair is for the whole model."""
    first = next(_unsigned(graph), "")
    return iter(graph.consumers[first][:1] if first else ())


def refusal(_graph: Graph, _record: LoweredLayer) -> str:
    """Nothing keeps the tensors from being int8 that `nodes` answers for."""
    return ""


def apply(edit: GraphEdit, _record: LoweredLayer) -> RepairMade:
    """Make int8 of all uint8 tensors that can be."""
    graph = edit.graph
    tensors = list(_unsigned(graph))
    for tensor in tensors:
        readers = graph.consumers[tensor]
        producer = graph.producers.get(tensor)
        if graph.stores(tensor):
            stored = edit.stored(readers[0], 0)
            made = edit.add_constant(f"{tensor}_int8", "int8", stored.codes ^ np.uint8(OFFSET))
        else:
            made = edit.fresh(f"{tensor}_int8")
            edit.rename_output(graph.producers[tensor], made)
        quantizer = () if producer is None or graph.stores(tensor) else (producer,)
        for reader in readers:
            edit.connect(reader, 0, made)
        for node in (*quantizer, *readers):
            _shift_zero_point(edit, node)
    text = f"and {len(tensors) - 1} more tensors become int8: 128 off their integers and zero-points"
    return RepairMade(text if len(tensors) > 1 else "reads int8: 128 off its integers and zero-point", ())


def _shift_zero_point(edit: GraphEdit, node: Node) -> None:
    """Give a QuantizeLinear or DequantizeLinear the zero-point of int8."""
    graph = edit.graph
    if len(node.inputs) > 2 and node.inputs[2]:
        codes = edit.stored(node, 2).codes
    else:
        codes = np.zeros([size or 1 for size in graph.shape(node.inputs[1]) or ()], np.uint8)
    edit.connect(node, 2, edit.add_constant(f"{node.outputs[0]}_zero_int8", "int8", codes ^ np.uint8(OFFSET)))
    edit.set_attributes(node, "output_dtype")


def _unsigned(graph: Graph) -> Iterator[str]:
    """uint8 tensors that QuantizeLinear or the file makes and that DequantizeLinear alone reads, in file order."""
    seen: set[str] = set()
    for node in graph.nodes:
        tensor = node.inputs[0] if node.inputs else ""
        if tensor and tensor not in seen and dequantizes(node):
            seen.add(tensor)
            if graph.elem_type(tensor) == "uint8" and tensor not in graph.outputs and _movable(graph, tensor):
                yield tensor


def _movable(graph: Graph, tensor: str) -> bool:
    """Whether all that makes and reads a tensor is QuantizeLinear and DequantizeLinear with stored zero-points."""
    producer, readers = graph.producers.get(tensor), graph.consumers[tensor]
    if graph.stores(tensor):
        ends = readers
        if graph.constants[tensor].overridable or not graph.constants[tensor].editable:
            return False
    elif producer is not None and quantizes(producer):
        ends = (producer, *readers)
    else:
        return False
    return all(
        not node.graph
        and (node is producer or dequantizes(node))
        and (len(node.inputs) < 3 or not node.inputs[2] or graph.stores(node.inputs[2]))
        for node in ends
    )


SIGNED_INTEGERS = RepairRow(
    name="signed-integers",
    what="makes int8 of uint8 tensors between QuantizeLinear and DequantizeLinear: 128 off integers and zero-points",
    hazards=frozenset(),
    price="nothing",
    free=True,
    refusal=refusal,
    apply=apply,
    rule="unsigned-integers",
    nodes=nodes,
    whole=True,
)
