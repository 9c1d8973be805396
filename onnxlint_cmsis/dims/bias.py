"""Bias slots: the place where a layer's sum can absorb a constant, and whether that is exact.

A lane that always holds the same value adds the same amount to every sum that reads it; once the lane is gone, that
amount has to be in the bias.
"""

from __future__ import annotations

from onnxlint_cmsis.dims.layer_scales import bias_scales, has_input, output_channels
from onnxlint_cmsis.dims.scales import weight_scales
from onnxlint_cmsis.graph.model import Constant, Graph, Node
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.pairwise_operators import ADD
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form, Roles, Sums
from onnxlint_cmsis.operators.sums import sums_of

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

    None for other operators, for nodes in subgraphs and local functions, and if weights are the left factor. None also
    if the bias is computed, may be replaced by a caller, or does not hold one number per output channel.
    """
    roles, sums = operator_of(node).roles, sums_of(graph, node)
    if node.graph or sums in (None, Sums.SCALED) or _weights_are_left(graph, node, roles):
        return None
    if roles.bias < 0:
        return _behind(graph, node, roles)
    if sums is Sums.INTEGERS:
        return _integer(graph, node, roles)
    beta = node.attributes.get("beta", 1.0) if roles.form is Form.GEMM else 1.0
    slot = _real(graph, node, node, roles.bias, 1) if beta != 0.0 else None
    plain = node.attributes.get("alpha", 1.0) == 1.0 == beta or roles.form is not Form.GEMM
    return slot if slot is None or plain else slot._replace(exact=False)


def _weights_are_left(graph: Graph, node: Node, roles: Roles) -> bool:
    """Whether a matrix product has its constant factor on the left."""
    return len(roles.weights) > 1 and _is_constant(graph, node.inputs[roles.data[0]])


def _integer(graph: Graph, node: Node, roles: Roles) -> BiasSlot | None:
    """An int32 input of a quantized operator, added before any scale."""
    if not has_input(node, roles.bias):
        return BiasSlot(INT32, "", node.index, roles.bias, exact=True)
    constant = _stored(graph, node.inputs[roles.bias])
    if constant is None or not _per_channel(constant, output_channels(graph, node), 1):
        return None
    return BiasSlot(INT32, constant.name, node.index, roles.bias, exact=True)


def _behind(graph: Graph, node: Node, roles: Roles) -> BiasSlot | None:
    """The constant of the one Add that reads the sum of an operator without a bias."""
    add = _only_add(graph, node)
    if add is None or any(each.value < 0 for each in roles.quantized):
        return None
    position = 1 - add.inputs.index(node.outputs[0])
    after = 1 if roles.form is not Form.CONVOLUTION else len(graph.shape(node.inputs[roles.weights[0]]) or ()) - 1
    if sums_of(graph, node) is Sums.FLOAT:
        return _real(graph, node, add, position, after)
    constant = _stored(graph, add.inputs[position])
    if constant is None or not _per_channel(constant, output_channels(graph, node), after):
        return None
    return BiasSlot(INT32, constant.name, add.index, position, exact=True)


def _real(graph: Graph, node: Node, reader: Node, position: int, after: int) -> BiasSlot | None:
    """A bias added in float: a constant, or int32 behind DequantizeLinear."""
    scales, count = bias_scales(graph, node), output_channels(graph, node)
    if not has_input(reader, position):
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
    """The int32 constant behind a DequantizeLinear without zero-point, where no other node reads it."""
    producer = graph.producers.get(name)
    if producer is None or not operator_of(producer).dequantizes or name in graph.outputs:
        return None
    if any(consumer is not reader for consumer in graph.consumers.get(name, ())):
        return None
    if has_input(producer, 2):
        zero = graph.constants.get(producer.inputs[2])
        values = zero.values() if zero is not None else None
        if values is None or any(values):
            return None
    constant = _stored(graph, producer.inputs[0])
    return constant if constant is not None and constant.elem_type == "int32" else None


def _only_add(graph: Graph, node: Node) -> Node | None:
    """The Add that alone reads a node's result."""
    made = node.outputs[0]
    consumers = graph.consumers.get(made, ())
    if made in graph.outputs or len(consumers) != 1 or operator_of(consumers[0]) is not ADD or consumers[0].graph:
        return None
    add = consumers[0]
    return add if len(add.inputs) == 2 and add.inputs.count(made) == 1 else None


def _stored(graph: Graph, name: str) -> Constant | None:
    """Stored value of an initializer or Constant node that callers cannot replace."""
    constant = graph.constants.get(name) if graph.stores(name) else None
    return None if constant is None or constant.overridable else constant


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
