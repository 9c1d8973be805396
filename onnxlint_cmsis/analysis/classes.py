"""Dimension classes: the walk over the graph that ties sizes, and what locks or fills them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite, prod

import numpy as np

from onnxlint_cmsis.formats.names import derived_values, operator_of, sums_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, AxisForm, Resolver, axis_text, leaves
from onnxlint_cmsis.model.context import Axes, Context, Naming, NotFollowedError
from onnxlint_cmsis.model.graph import Constant, Graph, Node, StoredQuantization
from onnxlint_cmsis.model.intervals import (
    Fault,
    Interval,
    as_stored,
    between,
    exactly,
    hull,
    interval_text,
    level,
    point,
    range_of,
    ranked,
)
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.variables import MAX_LANES, Dimension, Lock, find, leaves_of
from onnxlint_cmsis.operators.pairwise import ADD
from onnxlint_cmsis.operators.record import (
    Elements,
    LayerSum,
    NewElement,
    NotFollowed,
    Risk,
    ValueView,
    moved_input,
)

# Sizes as data: how a list of sizes travels through the nodes, and who may read one.


def follow(node: Node, context: Context) -> None:
    """Carry sizes through the node, and lock those that it computes with in a way that is not followed."""
    operator = operator_of(node)
    followed = None if isinstance(operator.sizes, NotFollowed) else operator.sizes(node, context)
    if followed is not None and node.outputs:
        context.elements[node.outputs[0]] = followed
        return
    for position, name in enumerate(node.inputs):
        if name in context.elements and position not in operator.roles.sizes:
            pin_elements(context, name, f"{node.op_type} computes with this size")


def pin_elements(context: Context, name: str, reason: str) -> None:
    """Lock every dimension whose size the tensor holds."""
    for element in context.elements.get(name, ()):
        if isinstance(element, Dimension):
            context.pin(element, reason)


# Stored constants, values derived from them alone, and the nodes that read both.


Use = tuple[int, int]
"""`Node.index` and input."""


class Constants:
    """Stored constants, initializers and values of Constant nodes, and tensors computed from them."""

    def __init__(self, graph: Graph, derived: Collection[str]) -> None:
        self.graph = graph
        self.derived = derived
        """Tensors computed from constants alone (`operators.derived.derived_values`)."""

    def stored(self, key: str) -> bool:
        """Whether the file itself holds the value, so that it can be edited."""
        return self.graph.stores(key)

    def constant(self, key: str) -> bool:
        """Whether a tensor is stored or computed from stored ones alone."""
        return key in self.graph.constants or key in self.derived

    def consumers(self, key: str) -> Iterator[tuple[Node, int]]:
        """Nodes and inputs that read a tensor."""
        for node in self.graph.consumers.get(key, ()):
            yield from ((node, position) for position, name in enumerate(node.inputs) if name == key)


# Result of the dimension analysis: classes, resolved axes, and numbers in the file that name sizes.


class Decider(NamedTuple):
    """A layer whose constant weights have the class along one of their channel axes."""

    node: int
    """`Node.index`."""
    label: str
    """`Node.label`."""
    op_type: str
    """Operator."""


class DimensionClass(NamedTuple):
    """Axes, or pieces of axes, that have one size in common."""

    id: int
    """Number of its leaf and its position in `Dimensions.classes`, in the order of the layers."""
    size: int
    """Channels now."""
    members: tuple[tuple[str, int], ...]
    """Tensor and axis, in order of first appearance; the class may be only a part of the axis (`Dimensions.axis`)."""
    deciders: tuple[Decider, ...]
    """Layers whose weights have the class along their output channels."""
    readers: tuple[Decider, ...]
    """Layers whose weights have the class along their input channels."""
    freedom: Freedom
    """FREE: one decider; COUPLED: several; LOCKED: may not change."""
    locks: tuple[Lock, ...]
    """Why it may not change; empty unless LOCKED."""


@dataclass(frozen=True, repr=False)
class SizeName:
    """A number in the file that names sizes and has to follow them: `sign` times the sum of the parts' sizes."""

    node: int
    """`Node.index` of the node that reads it."""
    position: int
    """Input of that node, -1 for an attribute."""
    attribute: str
    """Attribute, empty for an input."""
    element: int
    """Element of the input or attribute."""
    tensor: str
    """Constant that the number was read from, empty for an attribute."""
    index: int
    """Element of that constant."""
    parts: tuple[Axis, ...]
    """Axes whose sizes are summed."""
    sign: int
    """1, or -1 where the number counts from the end."""


@dataclass(frozen=True, eq=False, repr=False)
class Dimensions:
    """What every axis of a model is made of."""

    classes: tuple[DimensionClass, ...]
    """All classes that some layer's weights decide or read, by id."""
    size_names: tuple[SizeName, ...]
    """Every number in the file that names a size."""
    _axes: dict[str, tuple[Axis, ...]]
    _uses: dict[tuple[int, int], tuple[Axis, ...]]
    _locks: dict[int, tuple[Lock, ...]]
    _multipliers: dict[int, Axis]
    _classes: dict[int, DimensionClass]

    def axes(self, tensor: str) -> tuple[Axis, ...] | None:
        """Axes of a tensor; None where its rank is unknown. For a shared constant vector, those of its first use."""
        return self._axes.get(tensor)

    def axis(self, tensor: str, axis: int) -> Axis:
        """One axis. Raises KeyError for a tensor of unknown rank, IndexError outside the rank."""
        return self._axes[tensor][axis]

    def input_axes(self, node: int, position: int) -> tuple[Axis, ...] | None:
        """Axes of a constant vector as one node uses it; None where the input is no such constant.

        A constant with at most one axis longer than 1 has separate axes for each use, since one zero tensor may serve
        layers of unrelated sizes: copy it before resizing one use.
        """
        return self._uses.get((node, position))

    def class_of(self, tensor: str, axis: int) -> DimensionClass | None:
        """Class of an axis that is exactly one class; None for structures, locked sizes and unknown tensors."""
        axes = self._axes.get(tensor)
        return self._class(axes[axis]) if axes is not None and -len(axes) <= axis < len(axes) else None

    def leaves(self, tensor: str, axis: int) -> tuple[int, ...]:
        """Numbers of the leaves of an axis in order, each once; those below `len(classes)` are class ids."""
        return leaves(self.axis(tensor, axis))

    def channel_text(self, tensor: str, axis: int) -> str:
        """Axis for a person: `64`, `[8 + 8]`, `12 = 4 x 3`."""
        return axis_text(self.axis(tensor, axis))

    def locks(self, tensor: str, axis: int) -> tuple[Lock, ...]:
        """Every reason why some part of the axis may not change."""
        return tuple(dict.fromkeys(lock for leaf in self.leaves(tensor, axis) for lock in self._locks.get(leaf, ())))

    def multiplier_class(self, node: int) -> DimensionClass | None:
        """Channel multiplier of a depthwise layer; None where it is 1 or the layer is none.

        That of a convolution with one group over one input channel is its output channels.
        """
        axis = self._multipliers.get(node)
        return None if axis is None else self._class(axis)

    def class_with_id(self, leaf: int) -> DimensionClass | None:
        """Class of a leaf; None for a leaf that no layer's weights decide or read, or of unknown size."""
        return self._classes.get(leaf)

    def _class(self, axis: Axis) -> DimensionClass | None:
        return self._classes.get(axis.leaf) if axis.form is AxisForm.LEAF else None


# Operators that may make NaN or infinity of a finite number: where there are none, nothing has to be carried.


LARGE = 2.0**16
"""Numbers beyond it take others out of the range of their type after a few steps; so do divisors below its inverse."""
SHORT_TYPES = ("float16", "bfloat16")


def risks(graph: Graph) -> list[Node]:
    """Nodes that may make a new lane NaN or infinite."""
    return [node for node in graph.nodes if _risky(node, graph)]


def _risky(node: Node, graph: Graph) -> bool:
    risk = operator_of(node).risk
    if risk is Risk.DIVISOR:
        return len(node.inputs) < 2 or not _is_scalar(graph, node.inputs[1]) or _any_extreme(node, graph, factor=True)
    if risk in (Risk.LARGE_OPERAND, Risk.EXTREME_FACTOR):
        return _any_extreme(node, graph, factor=risk is Risk.EXTREME_FACTOR)
    if risk is Risk.EPSILON:
        epsilon = node.attributes.get("epsilon", 1e-5)
        return not isinstance(epsilon, int | float) or epsilon <= 0
    if risk is Risk.SHORT_TYPE:
        return any(graph.elem_type(name) in SHORT_TYPES for name in node.outputs[:1])
    return risk is Risk.ALWAYS


def _is_scalar(graph: Graph, name: str) -> bool:
    constant = graph.constants.get(name)
    return constant is not None and prod(constant.shape) == 1 and constant.values() is not None


def _any_extreme(node: Node, graph: Graph, *, factor: bool) -> bool:
    """Whether a constant operand of one element is NaN, large, or as a factor or divisor close to 0."""
    constants = [graph.constants[name] for name in node.inputs if name in graph.constants]
    scalars = (
        abs(float(value)) for constant in constants if prod(constant.shape) == 1 for value in constant.values() or ()
    )
    return any(not size <= LARGE or (factor and size < 1 / LARGE) for size in scalars)


# Scales of tensors that DequantizeLinear made real, looked up through operators that only move elements.


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
            return _along(graph, producer, axis)
        if operator.elements not in (Elements.SAME, Elements.TRANSPOSED):
            return None
        name = producer.inputs[0]
        rank = len(graph.shape(name) or ())
        if operator.elements is Elements.TRANSPOSED and axis >= 0:
            order = producer.permutation(rank)
            axis = order[axis] if order and axis < rank else -1
    return None


def _along(graph: Graph, node: Node, axis: int) -> tuple[float, ...] | None:
    scales, shape = _values(graph, node), graph.shape(node.inputs[0])
    if scales is None or shape is None or node.inputs[0] not in graph.constants:
        return None
    own = 0 if len(shape) == 1 else node.int("axis", 1)
    own += len(shape) if own < 0 else 0
    return scales if len(scales) == 1 or (own == axis and shape[axis] == len(scales)) else None


def _values(graph: Graph, node: Node) -> tuple[float, ...] | None:
    """Scales of a Q/DQ node; None where they are computed, replaceable, in blocks, or of another type than float32."""
    constant = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if constant is None or constant.overridable or len(constant.shape) > 1 or node.int("block_size"):
        return None
    values = constant.values() if constant.elem_type == "float32" else None
    return tuple(float(value) for value in values) if values and all(value > 0 for value in values) else None


# Scales of what a layer multiplies and sums, and how many output channels have one.


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
    constant = _stored(graph, node.inputs[roles.bias])
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
    constant = _stored(graph, add.inputs[position])
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
    if producer.has(2):
        zero = graph.constants.get(producer.inputs[2])
        values = zero.values() if zero is not None else None
        if values is None or any(values):
            return None
    constant = _stored(graph, producer.inputs[0])
    return constant if constant is not None and constant.elem_type == "int32" else None


def _only_add(graph: Graph, node: Node) -> Node | None:
    """The Add that alone reads a node's result."""
    result = node.outputs[0]
    consumers = graph.consumers.get(result, ())
    if result in graph.outputs or len(consumers) != 1 or operator_of(consumers[0]) is not ADD or consumers[0].graph:
        return None
    add = consumers[0]
    return add if len(add.inputs) == 2 and add.inputs.count(result) == 1 else None


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
    return name in graph.constants or (
        producer is not None and all(operand in graph.constants for operand in producer.inputs)
    )


def _agree(own: tuple[float, ...], product: tuple[float, ...]) -> bool:
    count = max(len(own), len(product))
    pairs = zip(own * (count // len(own)), product * (count // len(product)), strict=True)
    return all(abs(left - right) <= ROUNDING * right for left, right in pairs)


# Fill values of a constant's new elements: real 0 for weights and biases, else a value that keeps the lane finite.


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
        return _of_stored(node, position, stored, element)
    if element is NewElement.SERVING:
        return Fill(FillKind.FIRST)
    zero_point = operator.roles.zero_point_of(position, len(node.inputs))
    if zero_point is not None:
        return _zero_point(constants, node, position, zero_point)
    if element is NewElement.AS_READ and node.outputs[0] in constants.derived:
        return _handed_on(constants, node)
    return Fill(FillKind.NUMBER, int(element is NewElement.ONE))


def _of_stored(node: Node, position: int, stored: StoredQuantization, element: NewElement) -> Fill:
    """Real 0 in a tensor that keeps its own zero-points."""
    if element is NewElement.ONE:
        raise NotFilledError(f"input {position} of {node.label} would need a quantized 1")
    if len(set(stored.zero_points)) > 1:
        raise NotFilledError(f"the zero-points of '{node.inputs[position]}' differ by channel")
    return Fill(FillKind.NUMBER, stored.zero_points[0] if stored.zero_points else 0)


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


def _zero_point(constants: Constants, node: Node, position: int, holder: int) -> Fill:
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


# One pass over the nodes, each by its record, and the summary of it as classes.


def walk(graph: Graph) -> Context:
    """Tie, pin and bind every axis of the graph."""
    context = Context(graph, derived_values(graph))
    for name in graph.inputs:
        context.pin_all(context.axes_of(name) or (), f"graph input {name}")
    for name in sorted(graph.variables):
        context.pin_all(context.axes_of(name) or (), f"variable {name} keeps its values from run to run")
    for node in graph.nodes:
        context.enter(node, operator_of(node).roles)
        _apply(node, context)
    context.label = ""
    _pin_uneven_scales(context)
    for name in graph.outputs:
        context.pin_all(context.axes_of(name) or (), f"graph output {name}")
        pin_elements(context, name, f"graph output {name} holds this size")
    for node in graph.nodes:
        for body in node.bodies:
            for name in body.outputs:
                pin_elements(context, name, f"an output of the body of {node.label} holds this size")
    return context


def _apply(node: Node, context: Context) -> None:
    try:
        _tie(node, context)
    except NotFollowedError as reason:
        context.pin_everything(str(reason))
        for name in node.inputs:
            pin_elements(context, name, str(reason))
    follow(node, context)


def _pin_uneven_scales(context: Context) -> None:
    """Lock tensors that keep several scales which do not lie one for each index of an axis."""
    for name, stored in context.graph.quantization.items():
        shape, count = context.graph.shape(name), len(stored.scales)
        if count > 1 and (shape is None or not 0 <= stored.axis < len(shape) or shape[stored.axis] != count):
            reason = f"tensor {name} has {count} scales that do not lie along axis {stored.axis}"
            context.pin_all(context.axes_of(name) or (), reason)


def _tie(node: Node, context: Context) -> None:
    operator = operator_of(node)
    if not operator.known:
        raise NotFollowedError(f"operator {node.op_type} of domain {node.domain or 'ai.onnx'} is not known")
    if not node.outputs:
        raise NotFollowedError(f"{node.op_type} has no outputs")
    if isinstance(operator.axes, NotFollowed):
        raise NotFollowedError(f"axes of {node.op_type} are not followed: {operator.axes.because}")
    operator.axes(node, context)


# The dimension classes of a model: channel counts that move together, and their freedom.


__all__ = ["Decider", "DimensionClass", "Dimensions", "Lock", "SizeName", "analyse"]

Layers = dict[int, dict[int, None]]
"""Leaf to the indices of its layers, in order."""

LayerPair = tuple[tuple[Decider, ...], tuple[Decider, ...]]
"""Deciders and readers."""


def analyse(graph: Graph) -> Dimensions:
    """Dimension classes of a graph. Reads no weights, only constants that hold sizes, scales or axes."""
    context = walk(graph)
    locks = _locks(context)
    if risky := risks(graph):
        lock_new_lanes(context, risky)
        locks = _locks(context)
    resolver = Resolver(_class_roots(context))
    deciders, readers = _layers(context, resolver)
    axes, uses = _axes(context, resolver)
    by_leaf = {number: tuple(locks.get(root, ())) for number, root in enumerate(resolver.leaves)}
    for number, reason in resolver.opaque.items():
        by_leaf[number] += (Lock("", reason),)
    for number, root in enumerate(resolver.leaves):
        if (root.size or 0) > MAX_LANES:
            by_leaf[number] += (Lock("", f"it has {root.size} channels; followed are up to {MAX_LANES}"),)
    members = _members(context, axes, uses, deciders.keys() | readers.keys())
    classes: dict[int, DimensionClass] = {}
    for leaf in sorted(members):
        layers = _named(graph, deciders.get(leaf, ())), _named(graph, readers.get(leaf, ()))
        if (size := resolver.leaves[leaf].size) and size > 0:
            classes[leaf] = _class(leaf, size, members[leaf], layers, by_leaf[leaf])
    multipliers = {node: resolver.axis(dimension) for node, dimension in context.multipliers.items()}
    names = tuple(_size_name(resolver, naming) for naming in context.namings)
    return Dimensions(tuple(classes.values()), names, axes, uses, by_leaf, multipliers, classes)


def _locks(context: Context) -> dict[Dimension, dict[Lock, None]]:
    """Locks of each leaf, in the order they were put; also marks the leaves as fixed."""
    locks: dict[Dimension, dict[Lock, None]] = {}
    for dimension, lock in context.variables.pins:
        for leaf in leaves_of(dimension):
            leaf.fixed = True
            locks.setdefault(leaf, {})[lock] = None
    return locks


def _class_roots(context: Context) -> list[Dimension]:
    """Leaves of known size that some layer decides or reads, in the order of the layers."""
    resolver = Resolver()
    deciders, readers = _layers(context, resolver)
    known = (resolver.leaves[leaf] for leaf in sorted(deciders.keys() | readers.keys()))
    return [root for root in known if (root.size or 0) > 0]  # damaged files have negative ones


def _layers(context: Context, resolver: Resolver) -> tuple[Layers, Layers]:
    """Layers that decide each leaf, and layers that read it."""
    deciders: Layers = {}
    readers: Layers = {}
    for layer in context.layers:
        for dimensions, table in ((layer.reads, readers), (layer.decides, deciders)):
            for dimension in dimensions:
                for leaf in leaves(resolver.axis(dimension)):
                    table.setdefault(leaf, {})[layer.node] = None
    return deciders, readers


def _axes(
    context: Context, resolver: Resolver
) -> tuple[dict[str, tuple[Axis, ...]], dict[tuple[int, int], tuple[Axis, ...]]]:
    """Resolved axes of every tensor, and of every use of a constant vector."""
    axes: dict[str, tuple[Axis, ...]] = {}
    uses: dict[tuple[int, int], tuple[Axis, ...]] = {}
    for name, position, dimensions in _appearances(context):
        resolved = tuple(resolver.axis(dimension) for dimension in dimensions)
        if position is not None:
            uses[position] = resolved
        axes.setdefault(name, resolved)
    return axes, uses


def _appearances(context: Context) -> Iterator[tuple[str, tuple[int, int] | None, tuple[Dimension, ...]]]:
    """Each tensor once, in order of first appearance, and each use of a constant vector."""
    left = dict(context.tensors)
    for node in context.graph.nodes:
        for position, name in enumerate(node.inputs):
            use = (node.index, position)
            if use in context.uses:
                yield name, use, context.uses[use]
            elif name in left:
                yield name, None, left.pop(name)
        for name in node.outputs:
            if name in left:
                yield name, None, left.pop(name)
    for name, dimensions in left.items():
        yield name, None, dimensions


def _members(
    context: Context,
    axes: dict[str, tuple[Axis, ...]],
    uses: dict[tuple[int, int], tuple[Axis, ...]],
    chosen: Iterable[int],
) -> dict[int, dict[tuple[str, int], None]]:
    """Tensor and axis of every appearance of the chosen leaves."""
    members: dict[int, dict[tuple[str, int], None]] = {leaf: {} for leaf in chosen}
    for name, use, _ in _appearances(context):
        for position, axis in enumerate(axes[name] if use is None else uses[use]):
            for leaf in leaves(axis):
                if leaf in members:
                    members[leaf][name, position] = None
    return members


def _class(
    leaf: int, size: int, members: Iterable[tuple[str, int]], layers: LayerPair, locks: tuple[Lock, ...]
) -> DimensionClass:
    deciders, readers = layers
    if not deciders and not locks:
        locks = (Lock("", "no layer's weights decide it"),)
    freedom = Freedom.LOCKED if locks else Freedom.FREE if len(deciders) == 1 else Freedom.COUPLED
    return DimensionClass(leaf, size, tuple(members), deciders, readers, freedom, locks)


def _named(graph: Graph, nodes: Iterable[int]) -> tuple[Decider, ...]:
    return tuple(Decider(index, graph.nodes[index].label, graph.nodes[index].op_type) for index in nodes)


def _size_name(resolver: Resolver, naming: Naming) -> SizeName:
    origin = naming.origin
    parts = tuple(resolver.axis(find(part)) for part in naming.parts)
    tensor, index = (origin.tensor, origin.position) if origin is not None else ("", -1)
    return SizeName(naming.node, naming.position, naming.attribute, naming.element, tensor, index, parts, naming.sign)


# What the new elements of a node's operands hold: one cell for all of a tensor's, whichever lane they belong to.


MAX_READ = 4096
"""Constants of more elements are weights, which are not read."""

Leaves = frozenset[Dimension]


class NewLaneView(ValueView):
    """What new elements hold, per tensor; `wanted` are the leaves by which the node's output may grow.

    An operand without some of the leaves meets new elements with old ones: of those only small constants are known.
    Data that layers read are taken as finite.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.graph = context.graph
        self.constants = Constants(context.graph, context.derived)
        self.wanted: Leaves = frozenset()
        self.new: dict[str, Interval] = {}
        """New elements of tensors that are computed."""
        self.old: dict[str, Interval] = {}
        """All elements of tensors that are computed from constants."""
        self.decided = {layer.node: layer.decides for layer in context.layers}
        """Dimensions that the constant weights of layers decide."""
        self._leaves: dict[str, tuple[Dimension, ...]] = {}

    def enter(self, node: Node) -> None:
        """Make a node the current one."""
        self.context.enter(node, operator_of(node).roles)
        self.wanted = frozenset(leaf for name in node.outputs if name for leaf in self._growing(name))

    def growing(self, axes: Iterable[Dimension]) -> Leaves:
        """Leaves that may grow."""
        return frozenset(leaf for axis in axes for leaf in leaves_of(axis) if not leaf.fixed)

    def is_new(self, node: Node, position: int) -> bool:
        """Whether an operand has new elements where the output has."""
        return bool(self._of_operand(node, position) & self.wanted)

    def input(self, node: Node, position: int) -> Interval | None:
        """Values of an operand where the output is new; any finite number where unknown."""
        return self._ranked(node, position, self._value(node, position)) if node.has(position) else None

    def part(self, node: Node, position: int) -> Interval | None:
        """New elements come from the parts that have some."""
        new = node.has(position) and self.is_new(node, position)
        return self._ranked(node, position, self._new(node, position)) if new else None

    def join(self, parts: Sequence[Interval | None], _where: tuple[int, list[int]] | None, /) -> Interval | None:
        """New elements of any part."""
        known = [part for part in parts if part is not None]
        return hull(*(level(part, range(part.low.ndim)) for part in known)) if known else None

    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for, as its record says."""
        return operator_of(node).roles

    def layer_sum(self, node: Node) -> LayerSum | None:
        """0 where the products of new elements sum up to it."""
        roles, shape = self.roles(node), self.shape(node.outputs[0])
        if shape is None or not self._is_nothing(node, roles):
            return None
        return LayerSum(ranked(point(0.0), len(shape)), 0, roles.weights[0])

    def inverse(self, node: Node, position: int, /) -> Interval | None:
        """Inverses of all elements of a small constant."""
        divisors = () if self.is_new(node, position) else self._numbers(node, position)
        return None if not divisors or 0 in divisors else _of_numbers([1 / divisor for divisor in divisors])

    def _value(self, node: Node, position: int) -> Interval:
        mine = self._of_operand(node, position) & self.wanted
        if not mine:
            return self._old(node, position)
        new = self._new(node, position)
        return new if mine == self.wanted else hull(new, self._old(node, position))

    def _ranked(self, node: Node, position: int, held: Interval) -> Interval:
        return ranked(held, len(self.input_shape(node, position) or ()))

    def _new(self, node: Node, position: int) -> Interval:
        """What the new elements of an operand hold, of rank 0."""
        name = node.inputs[position]
        if self.constants.stored(name):
            return self._filled(node, position)
        return self.new.get(name) or range_of(self.elem_type(name))

    def _is_nothing(self, node: Node, roles: Roles) -> bool:
        rows = self._decided(node)
        if self.wanted <= rows:
            return True
        data = [position for position in roles.data_of(node) if not self.constants.constant(node.inputs[position])]
        if len(data) != 1 or sums_of(self.graph, node) is not Sums.FLOAT or not self.is_new(node, data[0]):
            return False
        return self.wanted - rows <= self._of_operand(node, data[0]) and bool(self._new(node, data[0]).zero)

    def _decided(self, node: Node) -> Leaves:
        """Leaves that the layer's constant weights decide, if their new elements are 0."""
        try:
            check_weights(self.constants, node)
        except NotFilledError:
            return frozenset()
        return self.growing(self.decided.get(node.index, ()))

    def _of_operand(self, node: Node, position: int) -> Leaves:
        use = node.index, position
        if use in self.context.uses:
            return self.growing(self.context.uses[use])
        return frozenset(self._growing(node.inputs[position]))

    def _growing(self, name: str) -> list[Dimension]:
        if name not in self._leaves:
            axes: Axes = self.context.axes_of(name) or ()
            self._leaves[name] = tuple(leaf for axis in axes for leaf in leaves_of(axis))
        return [leaf for leaf in self._leaves[name] if not leaf.fixed]

    def _numbers(self, node: Node, position: int) -> Sequence[float]:
        """All elements of a small constant; none where they are not known."""
        constant = self.graph.constants.get(node.inputs[position])
        return _numbers(constant) if constant is not None and not constant.overridable else ()

    def _old(self, node: Node, position: int) -> Interval:
        name = node.inputs[position]
        if numbers := self._numbers(node, position):
            return _of_numbers(numbers)
        return self.old.get(name) or range_of(self.elem_type(name))

    def _filled(self, node: Node, position: int) -> Interval:
        """What `fills` gives the new elements of a stored constant."""
        constant = self.graph.constants[node.inputs[position]]
        try:
            chosen = fill(self.constants, node, position)
        except NotFilledError:
            return range_of(constant.elem_type)
        if chosen.kind is FillKind.NUMBER:
            return point(chosen.number)
        return _serving(constant) if chosen.kind is FillKind.FIRST else range_of(constant.elem_type)


def _of_numbers(numbers: Sequence[float]) -> Interval:
    """Hull of numbers, which is flawed where one is NaN or infinite."""
    values = np.array(numbers, np.float64)
    whole = level(exactly(values), [0]).moved(lambda array: array.reshape(()))
    return whole.flawed(np.asarray(~np.isfinite(values).all()), Fault("may be NaN or infinite, as a constant is"))


def _serving(constant: Constant) -> Interval:
    """Elements that can serve as a scale or zero-point."""
    numbers = _numbers(constant)
    if "float" in constant.elem_type:
        numbers = [value for value in numbers if isfinite(value) and value > 0]
    fallback = between(0.0, np.inf) if "float" in constant.elem_type else range_of(constant.elem_type)
    return _of_numbers(numbers) if numbers else fallback


def _numbers(constant: Constant) -> Sequence[float]:
    """Numbers of a small constant; none where it is larger or cannot be read."""
    values = constant.values() if prod(constant.shape) <= MAX_READ else None
    return [float(value) for value in values or ()]


# Carries the values of new lanes from the layers to operators that may make NaN or infinity of them.


def lock_new_lanes(context: Context, risks: Iterable[Node]) -> None:
    """Lock every class with new lanes that may not stay finite.

    `risks` are the operators that may make NaN or infinity of a finite number; values are carried between the layers
    around them. `fills` gives the new elements of constants; data that layers read counts as finite.
    Dimensions that are pinned already have to be marked so.
    """
    graph, view = context.graph, NewLaneView(context)
    with np.errstate(all="ignore"):
        after = _reached([node.index for node in risks], lambda node: _readers(graph, node), graph)
        for index in sorted(_reached(after, lambda node: _makers(graph, view, node), graph)):
            _carry(graph.nodes[index], view)


def _reached(start: Iterable[int], around: Callable[[Node], Iterator[Node]], graph: Graph) -> set[int]:
    pending = list(start)
    reached = set(pending)
    while pending:
        for node in around(graph.nodes[pending.pop()]):
            if node.index not in reached:
                reached.add(node.index)
                pending.append(node.index)
    return reached


def _readers(graph: Graph, node: Node) -> Iterator[Node]:
    """Nodes that read a node's results, but for layers, which start anew."""
    for name in node.outputs:
        yield from (reader for reader in graph.consumers.get(name, ()) if not _is_layer(reader))


def _makers(graph: Graph, view: NewLaneView, node: Node) -> Iterator[Node]:
    """Nodes that make a node's operands; those of a layer only if they are constant."""
    for name in node.inputs:
        maker = graph.producers.get(name)
        if maker is not None and (not _is_layer(node) or view.constants.constant(name)):
            yield maker


def _is_layer(node: Node) -> bool:
    return operator_of(node).roles.form is not None


def _carry(node: Node, view: NewLaneView) -> None:
    """Note the values of a node's results, or lock the classes that may not grow."""
    operator = operator_of(node)
    followed = operator.movement is not None or callable(operator.values)
    if not followed or not node.has(0) or not node.outputs or not node.outputs[0]:
        return
    view.enter(node)
    if view.constants.constant(node.outputs[0]):
        wanted, view.wanted = view.wanted, frozenset()
        held = _new_elements(node, view)
        if held.fault is None:
            view.old[node.outputs[0]] = held
        view.wanted = wanted
    if not view.wanted:
        return
    held = _new_elements(node, view)
    if held.fault is not None:
        _lock(node, view, _reason(node, view, held.fault))
        return
    for name in node.outputs if operator.movement is not None else node.outputs[:1]:
        if name:
            view.new[name] = held


def _new_elements(node: Node, view: NewLaneView) -> Interval:
    """What the new elements of a node's first output hold together, as its type holds it."""
    operator, elem_type = operator_of(node), view.made_type(node)
    held = None
    if operator.movement is not None:
        held = view.input(node, moved_input(node, view))
    elif callable(operator.values):
        try:
            held = operator.values(node, view)
        except (ValueError, IndexError):  # shapes that contradict each other, of which nothing follows
            held = None
    if held is None or not held.low.size:
        return range_of(elem_type)
    whole = level(held, range(held.low.ndim)).moved(lambda array: array.reshape(()))
    stored = as_stored(whole, elem_type)
    return stored.flawed(np.isnan(stored.low), Fault("may be NaN or infinite"))


def _reason(node: Node, view: NewLaneView, fault: Fault) -> str:
    """`Reciprocal of a new lane, which holds 0, is infinite`."""
    name, held = node.op_type, fault.held if fault.held is not None else view.input(node, 0)
    if held is None:
        held = range_of("float32")
    if not fault.divides:
        return f"{name} of a new lane, {interval_text(held)}, {fault.outcome}"
    divisor = "by a new lane" if view.is_new(node, 1) else "of a new lane by a divisor"
    return f"{name} {divisor}, {interval_text(held)}, {fault.outcome}"


def _lock(node: Node, view: NewLaneView, reason: str) -> None:
    """Lock the axes along which the node's results may grow."""
    for name in filter(None, node.outputs):
        for axis in view.context.axes_of(name) or ():
            if leaves := view.growing([axis]):
                view.context.pin(axis, reason)
                for leaf in leaves:
                    leaf.fixed = True
