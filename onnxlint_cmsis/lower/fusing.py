"""What a kernel computes along: the clamp behind a layer, and a normalization in its weights.

The kernels named here end in a clamp (`activation.min` and `.max` of their parameters), so that Relu or Clip right
behind them costs nothing and is no layer. Between both may lie what leaves no trace at run time: Q/DQ, a bias as Add.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.quantization import weights_behind

WEIGHTED = ("convolve", "depthwise", "transpose_conv", "fully_connected")
"""Stems of entry points with weights, which also take in a BatchNormalization and a constant Add, Sub, Mul or Div."""
CLAMPING = (*WEIGHTED, "batch_matmul", "elementwise_add", "elementwise_mul", "avgpool", "max_pool")
"""Stems of entry points whose parameters have a clamp."""
CLAMPS = ("Relu", "Clip")
TRACELESS = ("QuantizeLinear", "DequantizeLinear", "Identity", "Cast", "RequantShift")
"""Operators that only change how numbers are stored."""
LINEAR = ("Add", "Sub", "Mul", "Div")


def fused_behind(graph: Graph, layer: Layer, derived: AbstractSet[str]) -> tuple[Node, ...]:
    """Nodes behind a layer that its kernel computes along, in order; each is the only reader of what is before it.

    `derived` are the values that are computed from constants alone.
    """
    if not layer.call.entry.startswith(CLAMPING):
        return ()
    found: list[Node] = []
    weighted = layer.call.entry.startswith(WEIGHTED)
    tensor = layer.node.outputs[0]
    while (node := _only_reader(graph, tensor)) is not None:
        clamp = node.is_op(*CLAMPS) and _bounds_fixed(graph, node)
        weighted = weighted and not clamp
        if clamp or (weighted and node.is_op("BatchNormalization")):
            found.append(node)
        elif node.op_type not in TRACELESS and not (weighted and _constant_operand(graph, node, tensor, derived)):
            break
        tensor = node.outputs[0]
    return tuple(found)


def _only_reader(graph: Graph, tensor: str) -> Node | None:
    readers = graph.consumers.get(tensor, ())
    return readers[0] if len(readers) == 1 and tensor not in graph.outputs and readers[0].outputs else None


def _bounds_fixed(graph: Graph, node: Node) -> bool:
    return all(weights_behind(graph, name) is not None for name in node.inputs[1:] if name)


def _constant_operand(graph: Graph, node: Node, tensor: str, derived: AbstractSet[str]) -> bool:
    others = [name for name in node.inputs if name != tensor]
    return node.is_op(*LINEAR) and len(others) == 1 and (others[0] in graph.constants or others[0] in derived)
