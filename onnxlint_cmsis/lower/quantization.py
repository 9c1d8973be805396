"""Which integer kernel a layer will use: the element types behind Q/DQ pairs and quantized operators."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Constant, Graph, Node
from onnxlint_cmsis.lower.assumptions import Assumptions

_FOUR_BITS = frozenset({"int4", "uint4"})
_EIGHT_BITS = frozenset({"int8", "uint8"})
_SIXTEEN_BITS = frozenset({"int16", "uint16"})
_STORED = frozenset(
    {
        "DequantizeLinear",
        "QuantizeLinear",
        "Identity",
        "Cast",
        "Transpose",
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
    }
)


def is_quantize(node: Node | None, op_type: str) -> bool:
    """Tell whether the node is QuantizeLinear or DequantizeLinear, in the default or Microsoft's domain."""
    return node is not None and node.op_type == op_type and node.domain in ("", "com.microsoft")


def stored_type(graph: Graph, tensor: str) -> str:
    """Element type a tensor is stored in: that before DequantizeLinear, else its own."""
    producer = graph.producers.get(tensor)
    if is_quantize(producer, "DequantizeLinear") and producer is not None:
        return graph.elem_type(producer.inputs[0])
    return graph.elem_type(tensor)


def weights_behind(graph: Graph, tensor: str) -> Constant | None:
    """Constant a weight comes from, through Q/DQ and what only moves it; None where it is computed."""
    for _ in range(len(graph.nodes) + 1):
        if tensor in graph.constants:
            return graph.constants[tensor]
        producer = graph.producers.get(tensor)
        if producer is None or producer.op_type not in _STORED or producer.domain not in ("", "com.microsoft"):
            return None
        tensor = producer.inputs[0]
    return None


def data_type(graph: Graph, activation: str, weights: str, assume: Assumptions) -> tuple[str, bool]:
    """CMSIS-NN suffix of a layer (`s8`, `s16`, `s4`) and whether it rests on `assume`.

    s4 kernels take s8 activations with 4-bit weights; s16 kernels take s16 activations with s8 weights.
    """
    stored = stored_type(graph, activation)
    behind = weights_behind(graph, weights) if weights else None
    four_bits = behind is not None and behind.elem_type in _FOUR_BITS
    if stored in _SIXTEEN_BITS:
        return "s16", False
    if stored in _EIGHT_BITS:
        return ("s4" if four_bits else "s8"), False
    return ("s4" if four_bits else assume.data_type), True


def activation_type(graph: Graph, tensor: str, assume: Assumptions) -> tuple[str, bool]:
    """As `data_type`, for kernels without weights, which know s8 and s16: activations of s4 layers are s8."""
    kind, assumed = data_type(graph, tensor, "", assume)
    return ("s8" if kind == "s4" else kind), assumed


def per_channel(graph: Graph, tensor: str, channels: int | None) -> bool:
    """Tell whether the weights carry one scale per output channel.

    A layer that computes in float carries none: it becomes a per-tensor layer unless the converter says otherwise.
    """
    producer = graph.producers.get(tensor)
    while producer is not None and producer.op_type in ("Transpose", "Identity") and producer.domain == "":
        producer = graph.producers.get(producer.inputs[0])
    if not is_quantize(producer, "DequantizeLinear") or producer is None or len(producer.inputs) < 2:
        return False
    return scale_count(graph, producer.inputs[1]) > 1 and channels != 1


def scale_count(graph: Graph, scale: str) -> int:
    """Count the entries of a scale tensor; 1 where its shape is unknown."""
    count = 1
    for size in graph.shape(scale) or ():
        count *= size or 1
    return count
