"""Where a layer's sum can take a constant: the bias of a convolution or matrix product, and whether adding is exact.

A lane that always holds the same value adds the same amount to every sum that reads it; once the lane is gone, that
amount has to be in the bias.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxlint_cmsis.dims.scales import activation_scale, weight_scales
from onnxlint_cmsis.graph.model import Constant, Graph, Node

REAL = ("Conv", "ConvTranspose", "FusedConv", "FusedGemm", "Gemm", "MatMul")
"""Operators that multiply in float, data at input 0 and weights at input 1."""
INT32, DEQUANTIZED, FLOAT = "int32", "dequantized", "float"
ROUNDING = 2.0**-22
"""How far a bias scale may be from the product of the other two: float32 products of float32 numbers, rounded twice."""


class BiasSlot(NamedTuple):
    """A vector with one number per output channel that is added to a layer's sum."""

    kind: str
    """`int32`: read by a quantized operator; `dequantized`: int32 constant behind DequantizeLinear; `float`."""
    tensor: str
    """Stored constant to change; empty where the node has none yet and one may be added at `position`.

    A new one of kind `dequantized` is an int32 constant behind a DequantizeLinear with `scales` and no zero-point.
    """
    node: int
    """`Node.index` of the node that reads it: the layer itself, or the Add that follows it."""
    position: int
    """Its input."""
    exact: bool
    """An integer sum in the layer's own unit, so that adding is exact."""
    scales: tuple[float, ...] = ()
    """Scale of a `dequantized` bias: one for each output channel or one for all."""


def bias_slot(graph: Graph, node: Node) -> BiasSlot | None:
    """Bias of a layer, or where one may be added; None where the layer can take no constant.

    None for other operators, for nodes in subgraphs and local functions, for a bias that is computed, that a caller
    may replace or that does not hold one number per output channel, and where weights are the left factor.
    """
    rule = SLOTS.get((node.domain, node.op_type))
    return rule(graph, node) if rule is not None and not node.graph else None


def bias_scales(graph: Graph, node: Node) -> tuple[float, ...] | None:
    """Unit of a layer's integer sum: activation scale times weight scale, one for each output channel or one for all.

    None where the layer does not multiply two dequantized tensors directly.
    """
    factors = factor_scales(graph, node)
    return factors.products if factors is not None else None


class FactorScales(NamedTuple):
    """Scales of the two dequantized tensors that a layer multiplies."""

    data: float
    """Scale of the data."""
    weights: tuple[float, ...]
    """Scales of the weights: one for each output channel or one for all."""

    @property
    def products(self) -> tuple[float, ...]:
        """Units of the layer's integer sum."""
        return tuple(self.data * scale for scale in self.weights)


def factor_scales(graph: Graph, node: Node) -> FactorScales | None:
    """Scales of what a layer multiplies; None where it does not multiply two dequantized tensors directly."""
    if node.op_type not in REAL or not _has(node, 1):
        return None
    data, weights = activation_scale(graph, node.inputs[0]), weight_scales(graph, node.inputs[1], _outputs(graph, node))
    if data is None or weights is None or node.attributes.get("alpha", 1.0) != 1.0:
        return None
    return FactorScales(data, weights)


def _outputs(graph: Graph, node: Node) -> int:
    """Axis of the weights along which the output channels lie, counted from the front; -1 where it is not one axis."""
    if node.op_type in ("Gemm", "FusedGemm"):
        return 0 if node.int("transB") else 1
    if node.op_type in ("MatMul", "MatMulInteger"):
        return 1 if len(graph.shape(node.inputs[1]) or ()) == 2 else -1
    if node.op_type == "ConvTranspose":
        return 1 if node.int("group", 1) == 1 else -1
    return 0


def _count(graph: Graph, node: Node, weights: int) -> int:
    """Output channels; 0 where unknown."""
    shape = graph.shape(node.inputs[weights]) if _has(node, weights) else None
    if node.op_type == "ConvTranspose":
        return 0 if shape is None or len(shape) < 2 else (shape[1] or 0) * node.int("group", 1)
    axis = _outputs(graph, node)
    return 0 if shape is None or not 0 <= axis < len(shape) else shape[axis] or 0


def _integer_at(position: int, weights: int) -> Callable[[Graph, Node], BiasSlot | None]:
    """An int32 input of a quantized operator."""

    def slot(graph: Graph, node: Node) -> BiasSlot | None:
        if not _has(node, position):
            return BiasSlot(INT32, "", node.index, position, exact=True)
        constant = _stored(graph, node.inputs[position])
        if constant is None or not _per_channel(constant, _count(graph, node, weights), 1):
            return None
        return BiasSlot(INT32, constant.name, node.index, position, exact=True)

    return slot


def _qgemm(graph: Graph, node: Node) -> BiasSlot | None:
    """Input 6 of QGemm, an int32 sum before any scale; B is [K, N] or, with transB, [N, K]."""
    shape = graph.shape(node.inputs[3]) if _has(node, 3) else None
    columns = 0 if node.int("transB") else 1
    if not _has(node, 6):
        return BiasSlot(INT32, "", node.index, 6, exact=True)
    constant = _stored(graph, node.inputs[6])
    count = (shape[columns] or 0) if shape is not None and len(shape) == 2 else 0
    if constant is None or not _per_channel(constant, count, 1):
        return None
    return BiasSlot(INT32, constant.name, node.index, 6, exact=True)


def _convolution(graph: Graph, node: Node) -> BiasSlot | None:
    """Input 2 of a convolution; a new one may be added."""
    return _real(graph, node, node, 2, 1)


def _gemm(graph: Graph, node: Node) -> BiasSlot | None:
    """Input 2 of Gemm, scaled by beta."""
    plain = node.attributes.get("alpha", 1.0) == 1.0 == node.attributes.get("beta", 1.0)
    if node.attributes.get("beta", 1.0) == 0.0 or _is_constant(graph, node.inputs[0]):
        return None
    slot = _real(graph, node, node, 2, 1)
    return slot if slot is None or plain else slot._replace(exact=False)


def _matmul(graph: Graph, node: Node) -> BiasSlot | None:
    """The constant of the one Add that reads the product."""
    add = _only_add(graph, node)
    if add is None or _is_constant(graph, node.inputs[0]):
        return None
    return _real(graph, node, add, 1 - add.inputs.index(node.outputs[0]), 1)


def _integer_sum(graph: Graph, node: Node) -> BiasSlot | None:
    """The int32 constant of the one Add that reads the sum of ConvInteger or MatMulInteger."""
    add = _only_add(graph, node)
    if add is None or _is_constant(graph, node.inputs[0]):
        return None
    position = 1 - add.inputs.index(node.outputs[0])
    constant = _stored(graph, add.inputs[position])
    after = len(graph.shape(node.inputs[1]) or ()) - 1 if node.op_type == "ConvInteger" else 1
    if constant is None or not _per_channel(constant, _count(graph, node, 1), after):
        return None
    return BiasSlot(INT32, constant.name, add.index, position, exact=True)


def _real(graph: Graph, node: Node, reader: Node, position: int, after: int) -> BiasSlot | None:
    """A bias added in float: a constant, or int32 behind DequantizeLinear."""
    scales, count = bias_scales(graph, node), _count(graph, node, 1)
    if not _has(reader, position):
        kind = FLOAT if scales is None else DEQUANTIZED
        return BiasSlot(kind, "", reader.index, position, scales is not None, scales or ())
    name = reader.inputs[position]
    constant = _stored(graph, name)
    if constant is not None:
        fits = _per_channel(constant, count, after) and constant.elem_type.startswith("float")
        return BiasSlot(FLOAT, name, reader.index, position, exact=False) if fits else None
    quantized = _dequantized(graph, name, reader)
    if quantized is None or not _per_channel(quantized, count, after):
        return None
    own = weight_scales(graph, name, max(len(quantized.shape) - after, 0))
    if own is None:
        return None
    exact = scales is not None and _agree(own, scales)
    return BiasSlot(DEQUANTIZED, quantized.name, reader.index, position, exact, own)


def _dequantized(graph: Graph, name: str, reader: Node) -> Constant | None:
    """The int32 constant behind a DequantizeLinear without zero-point that nobody else reads."""
    producer = graph.producers.get(name)
    if producer is None or producer.op_type != "DequantizeLinear" or name in graph.outputs:
        return None
    if any(consumer is not reader for consumer in graph.consumers.get(name, ())):
        return None
    if _has(producer, 2):
        zero = graph.constants.get(producer.inputs[2])
        values = zero.values() if zero is not None else None
        if values is None or any(values):
            return None
    constant = _stored(graph, producer.inputs[0])
    return constant if constant is not None and constant.elem_type == "int32" else None


def _only_add(graph: Graph, node: Node) -> Node | None:
    """The Add that is all that reads a node's result."""
    made = node.outputs[0]
    consumers = graph.consumers.get(made, ())
    if made in graph.outputs or len(consumers) != 1 or not consumers[0].is_op("Add") or consumers[0].graph:
        return None
    add = consumers[0]
    return add if len(add.inputs) == 2 and add.inputs.count(made) == 1 else None


def _stored(graph: Graph, name: str) -> Constant | None:
    """An initializer or Constant node's value that no caller may replace."""
    constant, producer = graph.constants.get(name), graph.producers.get(name)
    if constant is None or constant.overridable or (producer is not None and not producer.is_op("Constant")):
        return None
    return constant


def _per_channel(constant: Constant, count: int, after: int) -> bool:
    """Whether a constant is a vector of `count` along the axis that is `after`-th from the end, and 1 along others."""
    shape = (1,) * (after - len(constant.shape)) + constant.shape
    others = shape[: len(shape) - after] + shape[len(shape) - after + 1 :]
    return count > 0 and len(constant.shape) > 0 and shape[-after] == count and all(size == 1 for size in others)


def _is_constant(graph: Graph, name: str) -> bool:
    producer = graph.producers.get(name)
    return name in graph.constants or (producer is not None and all(one in graph.constants for one in producer.inputs))


def _agree(own: tuple[float, ...], product: tuple[float, ...]) -> bool:
    count = max(len(own), len(product))
    pairs = zip(own * (count // len(own)), product * (count // len(product)), strict=True)
    return all(abs(one - other) <= ROUNDING * other for one, other in pairs)


def _has(node: Node, position: int) -> bool:
    return position < len(node.inputs) and bool(node.inputs[position])


SLOTS: dict[tuple[str, str], Callable[[Graph, Node], BiasSlot | None]] = {
    ("", "Conv"): _convolution,
    ("", "ConvTranspose"): _convolution,
    ("", "ConvInteger"): _integer_sum,
    ("", "QLinearConv"): _integer_at(8, 3),
    ("", "Gemm"): _gemm,
    ("", "MatMul"): _matmul,
    ("", "MatMulInteger"): _integer_sum,
    ("com.microsoft", "FusedConv"): _convolution,
    ("com.microsoft", "FusedGemm"): _gemm,
    ("com.microsoft", "QLinearConv"): _integer_at(8, 3),
    ("com.microsoft", "QGemm"): _qgemm,
}
"""Layers that can take a constant, by domain and operator."""
