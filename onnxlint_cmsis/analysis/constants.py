"""What a stored constant is to the layers that read it: its scale, a bias, and what its new elements hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from math import isfinite

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.sums import sums_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Constant, Graph, Node
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.operators.answers import Elements, NotFollowed
from onnxlint_cmsis.operators.new_lane import NewElement
from onnxlint_cmsis.operators.pairwise import ADD

Use = tuple[int, int]
"""`Node.index` and input."""


class Constants:
    """Stored constants, initializers and values of Constant nodes, and tensors computed from them."""

    def __init__(self, graph: Graph, derived: Collection[str]) -> None:
        self.graph = graph
        self.derived = derived
        """Tensors computed from constants alone (`derived_values`)."""

    def stored(self, key: str) -> bool:
        """Tell whether the file itself holds the value, so that it can be edited."""
        return self.graph.stores(key)

    def constant(self, key: str) -> bool:
        """Tell whether a tensor is stored or computed from stored ones alone."""
        return key in self.graph.constants or key in self.derived

    def consumers(self, key: str) -> Iterator[tuple[Node, int]]:
        """Nodes and inputs that read a tensor."""
        for node in self.graph.consumers.get(key, ()):
            yield from ((node, position) for position, name in enumerate(node.inputs) if name == key)


def activation_scale(graph: Graph, name: str) -> float | None:
    """The scale that every element of a tensor is a whole multiple of; None for none."""
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(name)
        if producer is None or name in graph.constants:
            return None
        operator = operator_of(producer)
        if operator.dequantizes:
            scales = _values(graph, producer)
            return scales[0] if scales is not None and len(scales) == 1 else None
        if not operator.keeps_scale or name not in (producer.outputs if operator.moves else producer.outputs[:1]):
            return None
        name = producer.inputs[0]
    return None


def weight_scales(graph: Graph, name: str, axis: int) -> tuple[float, ...] | None:
    """Scales of dequantized constants: one, or one for each element of `axis`; None where they lie along another."""
    for _ in range(len(graph.nodes)):
        producer = graph.producers.get(name)
        if producer is None:
            return None
        operator = operator_of(producer)
        if operator.dequantizes:
            scales, shape = _values(graph, producer), graph.shape(producer.inputs[0])
            if scales is None or shape is None or producer.inputs[0] not in graph.constants:
                return None
            own = 0 if len(shape) == 1 else producer.int("axis", 1)
            own += len(shape) if own < 0 else 0
            return scales if len(scales) == 1 or (own == axis and shape[axis] == len(scales)) else None
        if operator.elements not in (Elements.SAME, Elements.TRANSPOSED):
            return None
        name = producer.inputs[0]
        rank = len(graph.shape(name) or ())
        if operator.elements is Elements.TRANSPOSED and axis >= 0:
            order = producer.permutation(rank)
            axis = order[axis] if order and axis < rank else -1
    return None


def _values(graph: Graph, node: Node) -> tuple[float, ...] | None:
    """Scales of a Q/DQ node; None where they are computed, replaceable, in blocks, or of another type than float32."""
    constant = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if constant is None or constant.overridable or len(constant.shape) > 1 or node.int("block_size"):
        return None
    values = constant.values() if constant.elem_type == "float32" else None
    return tuple(float(value) for value in values) if values and all(value > 0 for value in values) else None


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
    """Scales of a layer's two factors; None unless it multiplies two dequantized tensors directly."""
    roles = operator_of(node).roles
    if sums_of(graph, node) is not Sums.FLOAT or not node.has(roles.weights[0]):
        return None
    data = activation_scale(graph, node.inputs[roles.data[0]])
    weights = weight_scales(graph, node.inputs[roles.weights[0]], _output_axis(graph, node))
    if data is None or weights is None or node.attributes.get("alpha", 1.0) != 1.0:
        return None
    return FactorScales(data, weights)


def _output_axis(graph: Graph, node: Node) -> int:
    """Axis of the weights along which the output channels lie, counted from the front; -1 where it is not one axis."""
    roles = operator_of(node).roles
    rank = len(graph.shape(node.inputs[roles.weights[0]]) or ())
    if roles.form is None or (roles.form.transposed and node.int("group", 1) != 1):
        return -1
    if roles.form.convolves or roles.form is Form.ROWS:
        return roles.form.outputs(rank)
    return 1 - bool(node.int("transB")) if rank == 2 else -1


def output_channels(graph: Graph, node: Node) -> int:
    """Output channels; 0 where unknown."""
    roles = operator_of(node).roles
    weights = roles.weights[0]
    shape = graph.shape(node.inputs[weights]) if node.has(weights) else None
    if shape is not None and len(shape) > 1 and roles.form is Form.TRANSPOSED:
        return (shape[1] or 0) * node.int("group", 1)
    axis = _output_axis(graph, node)
    return 0 if shape is None or not 0 <= axis < len(shape) else shape[axis] or 0


# Bias slots: the place where a layer's sum can absorb a constant, and whether that is exact.
#
# A lane that always holds the same value adds the same amount to every sum that reads it; once the lane is gone, that
# amount has to be in the bias.
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
    if node.graph or sums in (None, Sums.SCALED):
        return None
    if len(roles.weights) > 1 and _is_constant(graph, node.inputs[roles.data[0]]):  # the left factor of a product
        return None
    if roles.bias < 0:
        return _behind(graph, node, roles)
    if sums is Sums.INTEGERS:
        return _integer(graph, node, roles)
    beta = node.attributes.get("beta", 1.0) if roles.form is Form.GEMM else 1.0
    slot = _real(graph, node, node, roles.bias, 1) if beta != 0.0 else None
    plain = node.attributes.get("alpha", 1.0) == 1.0 == beta or roles.form is not Form.GEMM
    return slot if slot is None or plain else slot._replace(exact=False)


def _integer(graph: Graph, node: Node, roles: Roles) -> BiasSlot | None:
    """An int32 input of a quantized operator, added before any scale."""
    if not node.has(roles.bias):
        return BiasSlot(INT32, "", node.index, roles.bias, exact=True)
    constant = _stored_constant(graph, node.inputs[roles.bias])
    if constant is None or not _per_channel(constant, output_channels(graph, node), 1):
        return None
    return BiasSlot(INT32, constant.name, node.index, roles.bias, exact=True)


def _behind(graph: Graph, node: Node, roles: Roles) -> BiasSlot | None:
    """The constant of the one Add that reads the sum of an operator without a bias."""
    add = _only_add(graph, node)
    if add is None or any(quantized.value < 0 for quantized in roles.quantized):
        return None
    position = 1 - add.inputs.index(node.outputs[0])
    after = 1 if roles.form is not Form.CONVOLUTION else len(graph.shape(node.inputs[roles.weights[0]]) or ()) - 1
    if sums_of(graph, node) is Sums.FLOAT:
        return _real(graph, node, add, position, after)
    constant = _stored_constant(graph, add.inputs[position])
    if constant is None or not _per_channel(constant, output_channels(graph, node), after):
        return None
    return BiasSlot(INT32, constant.name, add.index, position, exact=True)


def _real(graph: Graph, node: Node, reader: Node, position: int, after: int) -> BiasSlot | None:
    """A bias added in float: a constant, or int32 behind DequantizeLinear."""
    scales, count = bias_scales(graph, node), output_channels(graph, node)
    if not reader.has(position):
        kind = FLOAT if scales is None else DEQUANTIZED
        return BiasSlot(kind, "", reader.index, position, scales is not None, scales or ())
    name = reader.inputs[position]
    constant = _stored_constant(graph, name)
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
    if producer is None or not operator_of(producer).dequantizes or name in graph.ends:
        return None
    if any(consumer is not reader for consumer in graph.consumers.get(name, ())):
        return None
    if producer.has(2):
        zero = graph.constants.get(producer.inputs[2])
        values = zero.values() if zero is not None else None
        if values is None or any(values):
            return None
    constant = _stored_constant(graph, producer.inputs[0])
    return constant if constant is not None and constant.elem_type == "int32" else None


def _only_add(graph: Graph, node: Node) -> Node | None:
    """The Add that alone reads a node's result."""
    result = node.outputs[0]
    consumers = graph.consumers.get(result, ())
    if result in graph.ends or len(consumers) != 1 or operator_of(consumers[0]) is not ADD or consumers[0].graph:
        return None
    add = consumers[0]
    return add if len(add.inputs) == 2 and add.inputs.count(result) == 1 else None


def _stored_constant(graph: Graph, name: str) -> Constant | None:
    """Stored value of an initializer or Constant node that callers cannot replace."""
    constant = graph.constants.get(name) if graph.stores(name) else None
    return None if constant is None or constant.overridable else constant


def _per_channel(constant: Constant, count: int, after: int) -> bool:
    """Tell if a constant is a vector of `count` along the axis that is `after`-th from the end, and 1 along others."""
    shape = (1,) * (after - len(constant.shape)) + constant.shape
    others = shape[: len(shape) - after] + shape[len(shape) - after + 1 :]
    return count > 0 and len(constant.shape) > 0 and shape[-after] == count and all(size == 1 for size in others)


def _is_constant(graph: Graph, name: str) -> bool:
    producer = graph.producers.get(name)
    return name in graph.constants or (
        producer is not None and all(operand in graph.constants for operand in producer.inputs)
    )


def _agree(own: tuple[float, ...], product: tuple[float, ...]) -> bool:
    count = max(len(own), len(product))
    pairs = zip(own * (count // len(own)), product * (count // len(product)), strict=True)
    return all(abs(left - right) <= ROUNDING * right for left, right in pairs)


class NotFilledError(Exception):
    """No fill value fits; the text is the reason as one clause."""


class FillKind(str, Enum):
    """Where new elements come from."""

    NUMBER = "number"
    FIRST = "first"
    ZERO_POINTS = "zero-points"


class Fill(NamedTuple):
    """Fill of a constant's new elements."""

    kind: FillKind
    """A number; the first element that can serve (scales, zero-points); zero-points that differ by channel."""
    number: int = 0
    """The number: 0, 1 or a zero-point."""
    zero_points: Use = (-1, -1)
    """The use that reads the zero-points."""
    axis: int = 0
    """Axis of the values along which they lie."""


def fill(constants: Constants, node: Node, position: int) -> Fill:
    """Fill value that a reading node needs. Raises NotFilledError where there is none, or its readers disagree."""
    operator = operator_of(node)
    element = operator.new_element(position, len(node.inputs))
    if isinstance(element, NotFollowed):
        raise NotFilledError(f"new elements of {node.label} are not followed: {element.because}")
    stored = constants.graph.quantization.get(node.inputs[position])
    if stored is not None:
        if element is NewElement.ONE:
            raise NotFilledError(f"input {position} of {node.label} would need a quantized 1")
        if len(set(stored.zero_points)) > 1:
            raise NotFilledError(f"the zero-points of '{node.inputs[position]}' differ by channel")
        return Fill(FillKind.NUMBER, stored.zero_points[0] if stored.zero_points else 0)
    if element is NewElement.SERVING:
        return Fill(FillKind.FIRST)
    zero_point = operator.roles.zero_point_of(position, len(node.inputs))
    if zero_point is not None:
        return _fill_of_zero_point(constants, node, position, zero_point)
    if element is NewElement.AS_READ and node.outputs[0] in constants.derived:
        return _handed_on(constants, node)
    return Fill(FillKind.NUMBER, int(element is NewElement.ONE))


def check_weights(constants: Constants, node: Node) -> None:
    """Raise NotFilledError unless new elements of a layer's weights are real 0 by the time the layer reads them."""
    for position in operator_of(node).roles.weights:
        if position < len(node.inputs) and constants.constant(node.inputs[position]):
            _check_zero(constants, node.inputs[position], node.label)


def _handed_on(constants: Constants, node: Node) -> Fill:
    """The fill that all readers of a node's outputs ask for."""
    asked = {
        _moved(fill(constants, reader, position))
        for name in node.outputs
        for reader, position in constants.consumers(name)
        if name
    }
    if len(asked) > 1:
        raise NotFilledError(f"{node.label} hands a constant to readers that need different new elements")
    return asked.pop() if asked else Fill(FillKind.NUMBER, 0)


def _moved(handed: Fill) -> Fill:
    if handed.kind is FillKind.ZERO_POINTS:
        raise NotFilledError("weights are moved before they meet zero-points that differ by channel")
    return handed


def _fill_of_zero_point(constants: Constants, node: Node, position: int, holder: int) -> Fill:
    """Zero-point of quantized values: one number where all are equal, else those of the channels."""
    key = node.inputs[holder] if holder < len(node.inputs) else ""
    if not key:
        return Fill(FillKind.NUMBER, 0)
    constant = constants.graph.constants.get(key)
    values = constant.values() if constant is not None else None
    if not values:
        raise NotFilledError(f"the zero-point of {node.label} is computed at run time")
    if not all(map(isfinite, values)):
        raise NotFilledError(f"a zero-point of {node.label} is no number")
    if len(set(values)) == 1:
        return Fill(FillKind.NUMBER, int(values[0]))
    if constant is None or len(constant.shape) > 1 or not constants.stored(key):
        raise NotFilledError(f"the zero-points of {node.label} differ by block")
    rank = len(constants.graph.shape(node.inputs[position]) or ())
    axis = operator_of(node).roles.channel_axis(node, position, rank)
    return Fill(FillKind.ZERO_POINTS, 0, (node.index, holder), axis)


def _check_zero(constants: Constants, key: str, label: str) -> None:
    pending = [key]
    while pending:
        name = pending.pop()
        producer = constants.graph.producers.get(name)
        if constants.stored(name) or producer is None:
            continue
        operator = operator_of(producer)
        if operator.elements is Elements.REPEATED:
            values = constants.graph.constants[name].values() if name in constants.graph.constants else None
            if values is None or any(values):
                raise NotFilledError(f"the weights of {label} are a {producer.op_type} of other than 0")
            continue
        joined = operator.elements is Elements.JOINED
        positions = tuple(operator.roles.data_of(producer)) if joined else operator.zero
        if not positions:
            raise NotFilledError(
                f"the weights of {label} come through {producer.op_type}, which may make 0 another value"
            )
        pending.extend(producer.inputs[position] for position in positions)
