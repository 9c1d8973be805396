"""The record of an operator: roles, ties, values, folds and movements, and how it is asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import MAX_AXES, MAX_DIM
from onnxlint_cmsis.model import intervals
from onnxlint_cmsis.model.context import Context, Element
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.intervals import MAX_CELLS, Interval, point, put, regrouped, taken, unknown
from onnxlint_cmsis.model.roles import Roles

if TYPE_CHECKING:
    import numpy.typing as npt

    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.intervals import Array, Mask


# Answers that a record gives in one word.


class NotFollowed(NamedTuple):
    """A facet that the record leaves open."""

    because: str
    """One clause a person can read."""


class Elements(str, Enum):
    """What the elements of the first output are, in terms of the inputs' elements."""

    SAME = "same"
    """The first input as it is."""
    RENAMED = "renamed"
    """The first input's bytes under another shape."""
    TRANSPOSED = "transposed"
    """The first input with its axes in the order of `perm`."""
    MOVED = "moved"
    """Elements of the first input in another order, some of them, or some of them repeated; all outputs alike."""
    JOINED = "joined"
    """Elements of all data inputs."""
    PADDED = "padded"
    """Elements of the first input, and further ones around them."""
    SELECTED = "selected"
    """Some elements of the first input, and zeros: which ones depends on their values."""
    CAST = "cast"
    """Numbers of the first input in another type."""
    QUANTIZED = "quantized"
    """Real numbers of the first input in steps of a scale."""
    DEQUANTIZED = "dequantized"
    """Steps of a scale of the first input as real numbers."""
    REQUANTIZED = "requantized"
    """Steps of one scale of the first input in steps of another."""
    MEASURED = "measured"
    """Real numbers of the first input in steps of a scale; the scale is measured at run time."""
    COMPARED = "compared"
    """Truth values: how two inputs compare."""
    STORED = "stored"
    """Constants that the node itself holds."""
    REPEATED = "repeated"
    """One constant that the node itself holds, everywhere."""
    SIZES = "sizes"
    """Sizes of a tensor; its elements do not matter."""
    RANDOM = "random"
    """Numbers that are drawn anew in every run."""
    BODIES = "bodies"
    """What subgraphs make, whose nodes speak for themselves."""
    COMPUTED = "computed"
    """New values."""


CONVERTED = frozenset({Elements.CAST, Elements.QUANTIZED, Elements.DEQUANTIZED, Elements.REQUANTIZED})
"""The same real numbers, up to rounding, stored in another way. MEASURED is not among them: its scale is computed."""
UNCHANGED = frozenset({Elements.SAME, Elements.RENAMED})
"""The same bytes, so that nothing has to be done at run time."""
MOVING = UNCHANGED | {Elements.TRANSPOSED, Elements.MOVED}
"""Elements of the first input and nothing else, whatever their values."""
NO_DATA = frozenset({Elements.STORED, Elements.REPEATED, Elements.SIZES, Elements.BODIES})
"""Nothing is computed from the elements of an input by the node itself."""


class Layout(str, Enum):
    """How the axes of an operator's tensors lie at run time, where ONNX's definition of it tells."""

    IMAGE = "image"
    """NCHW or NCW in ONNX: batch, channels, plane."""
    ORDERED = "ordered"
    """The result is stored in the order of its axes."""
    EITHER = "either"
    """The operator does not tell."""


class Risk(str, Enum):
    """When an operator may make NaN or infinity of finite numbers."""

    NONE = "none"
    """Never, up to the range of its type."""
    ALWAYS = "always"
    """It is not defined on some numbers, or grows fast."""
    LARGE_OPERAND = "large operand"
    """Where a constant operand is large."""
    EXTREME_FACTOR = "extreme factor"
    """Where a constant factor is large or close to 0."""
    DIVISOR = "divisor"
    """Where the divisor is not one constant, or as an extreme factor."""
    EPSILON = "epsilon"
    """Where `epsilon` is not above 0."""
    SHORT_TYPE = "short type"
    """Where the result is of a real type with few exponent bits."""


# What a new lane of an operator's constants holds.


class NewElement(str, Enum):
    """What a new element of an input is."""

    ZERO = "zero"
    """Real 0: the zero-point where the input holds quantized values."""
    ONE = "one"
    """Real 1."""
    SERVING = "serving"
    """The first old element that can serve: a scale that is positive and finite, or a zero-point."""
    AS_READ = "as read"
    """The nodes that read the result decide."""


class NewLane(NamedTuple):
    """What new elements of an operator's inputs are; those of scales and zero-points are always SERVING."""

    element: NewElement = NewElement.ZERO
    """What they are in every input that `ones` does not name."""
    ones: tuple[int, ...] = ()
    """Inputs where they are ONE, since 0 would make NaN or infinity, or no lane of a normalization."""


ZEROS = NewLane()
"""Weights, biases, slopes and operands: real 0."""
AS_READ = NewLane(NewElement.AS_READ)
"""The result holds elements of the inputs, so its readers decide."""
NO_NEW_LANES = NotFollowed("its axes are not followed, so its constants get no new lanes")


# What a transfer function sees of its node: intervals of the inputs, shapes, types and small constants.


class LayerSum(NamedTuple):
    """What a convolution or matrix product sums up, before bias and scales."""

    total: Interval
    """Products of data and weights less their zero-points, of the rank of the result."""
    axis: int
    """Axis of the result that lies along the rows of the weights."""
    weights: int
    """Input that holds the weights."""


class NodeView(ABC):
    """What stands in a graph: shapes, types and small constants."""

    graph: Graph

    @abstractmethod
    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for."""

    def shape(self, name: str) -> tuple[Size, ...] | None:
        """Shape of a tensor, None where its rank is unknown."""
        constant = self.graph.constants.get(name)
        return constant.shape if constant is not None else self.graph.shape(name)

    def input_shape(self, node: Node, position: int) -> tuple[Size, ...] | None:
        """Shape of an input; None where it is omitted or its rank is unknown."""
        return self.shape(node.inputs[position]) if node.has(position) else None

    def elem_type(self, name: str) -> str:
        """Element type of a tensor, empty where it is not known."""
        constant = self.graph.constants.get(name)
        return constant.elem_type if constant is not None else self.graph.elem_type(name)

    def made_type(self, node: Node) -> str:
        """Element type of a node's first output."""
        return self.elem_type(node.outputs[0])

    def stated(self, node: Node, name: str, default: Sequence[int] | None = None) -> tuple[int, ...] | None:
        """Numbers that a node states under a name of its roles, else `default`; None where they are not known."""
        return self.roles(node).numbers_of(node, name, lambda position: self.ints(node, position), default)

    def ints(self, node: Node, position: int) -> list[int] | None:
        """Numbers of an input; None where they are not known."""
        constant = self.graph.constants.get(node.inputs[position]) if node.has(position) else None
        values = None if constant is None or constant.overridable else constant.values()
        return None if values is None else [int(value) for value in values]


class ValueView(NodeView):
    """A reading of the graph: present lanes, or the lanes that resizing adds."""

    @abstractmethod
    def input(self, node: Node, position: int) -> Interval | None:
        """What an input holds; None where it is omitted or its rank is unknown."""

    @abstractmethod
    def part(self, node: Node, position: int) -> Interval | None:
        """Part that an input adds to a concatenation; None for none."""

    @abstractmethod
    def join(self, parts: Sequence[Interval | None], where: tuple[int, list[int]] | None, /) -> Interval | None:
        """Parts one after the other along an axis, given the length of each; None where it cannot be said."""

    @abstractmethod
    def layer_sum(self, node: Node) -> LayerSum | None:
        """Sum of a layer; None where nothing is known of it."""

    def inverse(self, _node: Node, _position: int, /) -> Interval | None:
        """Inverses of a divisor whose elements are known one by one, though not its interval; None elsewhere."""
        return None

    def rounding(self, node: Node) -> float:
        """Relative error of a node's result."""
        return intervals.rounding(self.made_type(node))

    def scalar(self, node: Node, position: int, default: float = np.nan) -> Interval:
        """The one element of an input, of rank 0; `default` where it is omitted, unknown where it has several."""
        if not node.has(position):
            return point(default)
        value = self.input(node, position)
        if value is None or value.low.size != 1:
            return unknown(0)
        return value.moved(lambda array: array.reshape(()))


ValueRule = Callable[["Node", ValueView], "Interval | None"]
"""What a node's first output holds; None where nothing is known."""
DemandRule = Callable[["Node", ValueView, "Mask"], "dict[int, Mask] | None"]
"""Masks of a node's inputs from that of its first output; None where every element of every input may be needed."""


def real_attribute(node: Node, name: str, default: float) -> float:
    """A number among a node's attributes, NaN where it is none."""
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, int | float) else np.nan


# How operators move elements without changing them: the way there for intervals, and the way back for masks.


class Move(NamedTuple):
    """One node's way of moving elements."""

    forward: Callable[[Array], Array]
    """Output from input."""
    backward: Callable[[Array], Array]
    """Mask of the input from a mask of the output."""


class Passage(NamedTuple):
    """A node that moves the elements of an input to one of its outputs."""

    node: Node
    """The node."""
    view: NodeView
    """Shapes and constants."""
    before: tuple[Size, ...]
    """Shape of the input."""
    after: tuple[Size, ...]
    """Shape of the output."""
    position: int = 0
    """Which output."""


def passage(node: Node, view: NodeView, position: int = 0) -> Passage | None:
    """A node between its data and an output; None where a rank is unknown or an array would get too large."""
    before, after = view.input_shape(node, moved_input(node, view)), view.shape(node.outputs[position])
    if before is None or after is None or max((size or 1 for size in (*before, *after)), default=1) > MAX_CELLS:
        return None
    return Passage(node, view, before, after, position)


def moved_input(node: Node, view: NodeView) -> int:
    """Input whose elements a node moves."""
    data = view.roles(node).data
    return data[0] if data else 0


def move_regroup(way: Passage) -> Move | None:
    """Reshape and its like."""
    before, after = way.before, way.after
    if regrouped(np.broadcast_to(np.bool_(True), [size or 1 for size in before]), before, after) is None:
        return None
    return Move(
        lambda array: _sure(regrouped(array, before, after)), lambda mask: _sure(regrouped(mask, after, before))
    )


def move_ones(way: Passage) -> Move | None:
    """Squeeze and Unsqueeze: axes of size 1 go or come; None where those that the node names are not they."""
    shorter, longer = sorted((way.before, way.after), key=len)
    axes = way.view.stated(way.node, "axes", ())
    if axes is None or not all(-len(longer) <= axis < len(longer) for axis in axes):
        return None
    named = {axis % len(longer) for axis in axes} or {axis for axis, size in enumerate(longer) if size == 1}
    rest = tuple(size for axis, size in enumerate(longer) if axis not in named)
    return move_regroup(way) if shorter == rest else None


def _sure(array: Array | None) -> Array:
    if array is None:
        raise ValueError("the regrouped array would be too large")
    return array


def transpose(way: Passage) -> Move | None:
    """Axes in another order."""
    order = way.view.stated(way.node, "perm", range(len(way.before) - 1, -1, -1))
    return ordered(tuple(order)) if order and sorted(order) == [*range(len(way.before))] else None


def ordered(order: tuple[int, ...]) -> Move:
    """Axes in a given order."""
    return Move(lambda array: array.transpose(order), lambda mask: mask.transpose(np.argsort(order)))


def _pick(axis: int, indices: Array, size: int) -> Move:
    return Move(lambda array: taken(array, axis, indices), lambda mask: put(mask, axis, indices, size))


def chain(*moves: Move | None) -> Move | None:
    """Moves one after the other; None where one of them is None."""
    known = [move for move in moves if move is not None]

    def forward(array: Array) -> Array:
        for move in known:
            array = move.forward(array)
        return array

    def backward(mask: Array) -> Array:
        for move in reversed(known):
            mask = move.backward(mask)
        return mask

    return Move(forward, backward) if len(known) == len(moves) else None


def move_slice(way: Passage) -> Move | None:
    """Elements at steps between limits."""
    node, view = way.node, way.view
    starts, ends = view.stated(node, "starts"), view.stated(node, "ends")
    if starts is None or ends is None:
        return None
    axes = view.stated(node, "axes", range(len(starts)))
    steps = view.stated(node, "steps", [1] * len(starts))
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    limits = zip(starts, ends, axes, steps, strict=True)
    return chain(*(sliced(way.before, axis, slice(start, end, step)) for start, end, axis, step in limits))


def sliced(before: tuple[Size, ...], axis: int, limits: slice) -> Move | None:
    """Elements between limits of one axis."""
    size = before[axis] if -len(before) <= axis < len(before) else None
    return None if size is None else _pick(axis % len(before), np.arange(size)[limits], size)


def move_split(way: Passage) -> Move | None:
    """One of several pieces along an axis."""
    along = way.view.stated(way.node, "axis", (0,))
    shapes = [way.view.shape(name) for name in way.node.outputs[: way.position + 1]]
    if along is None or len(along) != 1 or not -len(way.before) <= along[0] < len(way.before):
        return None
    axis = along[0]
    lengths = [None if shape is None or len(shape) != len(way.before) else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return None
    return sliced(way.before, axis, slice(sum(known[:-1]), sum(known)))


def move_gather(way: Passage) -> Move | None:
    """Elements at fixed indices of an axis."""
    before, axis = way.before, way.node.int("axis", 0)
    indices = way.view.ints(way.node, 1)
    size = before[axis] if -len(before) <= axis < len(before) else None
    if indices is None or size is None or not all(-size <= index < size for index in indices):
        return None
    axis %= len(before)
    middle = (*before[:axis], len(indices), *before[axis + 1 :])
    picked = _pick(axis, np.array(indices, int) % size, size)
    return chain(picked, move_regroup(way._replace(before=middle)))


def move_depth_to_space(way: Passage) -> Move | None:
    """Blocks of channels laid out on the plane."""
    roles, sizes = way.view.roles(way.node), [size or 0 for size in way.before]
    block = roles.number(way.node, "blocksize")
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[roles.channels(4)] % (block * block):
        return None
    inner = sizes[roles.channels(4)] // (block * block)
    if roles.channels_last:
        return three(way, (*sizes[:3], block, block, inner), (0, 1, 3, 2, 4, 5))
    batch, _, *plane = sizes
    if way.node.text("mode", "DCR") == "CRD":
        return three(way, (batch, inner, block, block, *plane), (0, 1, 4, 2, 5, 3))
    return three(way, (batch, block, block, inner, *plane), (0, 3, 4, 1, 5, 2))


def move_space_to_depth(way: Passage) -> Move | None:
    """Blocks of the plane put into channels."""
    roles, sizes = way.view.roles(way.node), [size or 0 for size in way.before]
    block = roles.number(way.node, "blocksize")
    if len(sizes) != 4 or None in way.before or block < 1 or any(sizes[axis] % block for axis in roles.plane(4)):
        return None
    height, width = (sizes[axis] // block for axis in roles.plane(4))
    batch, channels = sizes[0], sizes[roles.channels(4)]
    if roles.channels_last:
        return three(way, (batch, height, block, width, block, channels), (0, 1, 3, 2, 4, 5))
    return three(way, (batch, channels, height, block, width, block), (0, 3, 5, 1, 2, 4))


def three(way: Passage, split: tuple[int, ...], order: tuple[int, ...]) -> Move | None:
    """Regroup, transpose, regroup."""
    turned = tuple(split[axis] for axis in order)
    return chain(move_regroup(way._replace(after=split)), ordered(order), move_regroup(way._replace(before=turned)))


Movement = Callable[[Passage], "Move | None"]
"""How a node moves its data to an output; None where that cannot be followed."""


# Integers that operators make of known integers, as shape arithmetic needs them.
#
# A fold takes the attributes of a node and its operands: arrays of Python integers, None for an element that is not
# known, or None in place of an operand that is left out. An exception means that the result is unknown.


if TYPE_CHECKING:
    Value = npt.NDArray[np.object_]
    """Python integers, None for an element that is not known."""

INT32, INT64 = 6, 7
"""Element types, as ONNX numbers them."""
MAX_ELEMENTS = 256
"""Elements of the largest tensor that is worked out; the pads of eight axes are 16."""

FoldRule = Callable[..., "Value | None"]
"""Result of a node from its attributes and operands; None where it is not known."""


def array_of(elements: Any, shape: tuple[int, ...]) -> Value | None:
    """An array of Python integers; None for more axes than are worked out."""
    if len(shape) > MAX_AXES:
        return None
    array = np.empty(math.prod(shape), object)
    array[:] = elements
    return array.reshape(shape)


def fold_identity(_attributes: dict[str, Any], x: Value) -> Value:
    """The integers themselves."""
    return x


def fold_cast(attributes: dict[str, Any], x: Value) -> Value | None:
    """The integers themselves, where they are cast to integers that hold them."""
    known = [number for number in x.ravel().tolist() if number is not None]
    held = attributes["to"] == INT64 or (attributes["to"] == INT32 and all(-(2**31) <= n < 2**31 for n in known))
    return x if held else None


def fold_gather(attributes: dict[str, Any], x: Value, indices: Value) -> Value:
    """Integers picked by index."""
    picked: Value = np.take(x, indices.astype(np.int64), axis=attributes.get("axis", 0))
    return picked


def fold_concat(attributes: dict[str, Any], *parts: Value) -> Value:
    """Several lists, one after the other."""
    return np.concatenate(parts, axis=attributes["axis"])


def _axes(attributes: dict[str, Any], axes: Value | None) -> tuple[int, ...]:
    return tuple(int(a) for a in (attributes["axes"] if axes is None else axes.tolist()))


def fold_unsqueeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    """New axes of size 1."""
    return np.expand_dims(x, _axes(attributes, axes))


def fold_squeeze(attributes: dict[str, Any], x: Value, axes: Value | None = None) -> Value:
    """Axes of size 1 dropped."""
    return x.squeeze(None if axes is None and "axes" not in attributes else _axes(attributes, axes))


def fold_slice(attributes: dict[str, Any], x: Value, *limits: Value | None) -> Value:
    """Limits as attributes (opset 1) or as inputs: starts, ends, axes, steps."""
    given = [None if v is None else v.tolist() for v in limits] or [attributes["starts"], attributes["ends"]]
    starts, ends = given[0] or [], given[1] or []
    axes = (given[2] if len(given) > 2 else attributes.get("axes")) or range(len(starts))
    steps = (given[3] if len(given) > 3 else None) or [1] * len(starts)
    window = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        low = end if step > 0 or end > -x.shape[axis] - 1 else None
        first = start if step > 0 else max(start, -x.shape[axis])  # ONNX begins with the first element, NumPy with none
        window[axis] = slice(int(first), low, int(step))
    return x[tuple(window)]


def fold_reshape(attributes: dict[str, Any], x: Value, target: Value) -> Value:
    """Another shape; 0 copies a size, unless `allowzero`."""
    copies = not attributes.get("allowzero")
    sizes = [x.shape[i] if size == 0 and copies else size for i, size in enumerate(target.tolist())]
    return x.reshape(sizes)


def fold_transpose(attributes: dict[str, Any], x: Value) -> Value:
    """Axes in the order of `perm`."""
    turned: Value = x.transpose(attributes.get("perm"))
    return turned


def fold_constant_of_shape(attributes: dict[str, Any], shape: Value) -> Value | None:
    """Only of integers; float is what a node without a value makes."""
    fill, sizes = attributes["value"], tuple(int(size) for size in shape)
    small = all(size >= 0 for size in sizes) and math.prod(sizes) <= MAX_ELEMENTS
    return None if fill is None or not small else array_of(fill.item(), sizes)


def fold_arithmetic(operate: Callable[[int, int], int | None]) -> FoldRule:
    """A function of two integers, element by element; unknown where an operand is, or the result is no size."""

    def limited(a: int | None, b: int | None) -> int | None:
        result = None if a is None or b is None else operate(a, b)
        return result if result is not None and abs(result) <= MAX_DIM else None

    def fold(attributes: dict[str, Any], x: Value, y: Value) -> Value | None:
        if attributes.get("broadcast"):  # along an axis that it names, before operator set 7
            return None
        result: Value = np.asarray(np.frompyfunc(limited, 2, 1)(x, y), object)
        return result

    return fold


fold_add = fold_arithmetic(lambda a, b: a + b)
fold_sub = fold_arithmetic(lambda a, b: a - b)
fold_mul = fold_arithmetic(lambda a, b: a * b)
fold_div = fold_arithmetic(lambda a, b: a // b if a >= 0 and b > 0 else None)
"""Division only where rounding is no question."""


# The record of one operator: all facts that other rooms ask of it.


MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""

TieRule = Callable[[Node, Context], None]
"""Ties, pins and binds the axes of one node; raises NotFollowedError where it cannot."""
SizeRule = Callable[[Node, Context], "tuple[Element, ...] | None"]
"""Sizes that the first output holds, from those that the inputs hold; None where they are not followed."""

COMPUTES = NotFollowed("it computes with the sizes it is given")
OPAQUE = NotFollowed("the numbers it computes are not followed")
BY_WEIGHTS = NotFollowed("the weights tell which columns count")
NO_SHAPE_ARITHMETIC = NotFollowed("exporters do not compute shapes with it")
READS_ALL = NotFollowed("every element of every input may count for every element of the result")


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator, or a name that a format has for it."""

    name: str
    """Operator type."""
    axes: TieRule | NotFollowed
    """Ties and locks of its axes, with the reasons."""
    elements: Elements
    """What the elements of its first output are."""
    risk: Risk
    """When it may make NaN or infinity of finite numbers."""
    layout: Layout
    """How the axes of its tensors lie at run time."""
    new_lane: NewLane | NotFollowed = field(kw_only=True)
    """What a new lane of its constants holds."""
    domain: str = ""
    """Operator set domain, empty for the default one."""
    roles: Roles = field(default_factory=Roles)
    """What its inputs are for."""
    zero: tuple[int, ...] = ()
    """Inputs of which zeros make zeros of the result, whatever the other inputs hold there."""
    sizes: SizeRule | NotFollowed = COMPUTES
    """How it carries sizes of tensors that it is given as data."""
    bounds: tuple[float, float] | None = None
    """Least and largest number of the result, whatever the inputs hold; None where there are none."""
    slope: float | None = None
    """By how much the result changes at most where no input changes by more than 1; None where attributes tell it, or
    nothing does."""
    values: ValueRule | NotFollowed = OPAQUE
    """Transfer function: values of the first output from values of the inputs, for present and new lanes."""
    movement: Movement | None = None
    """How the elements of each output lie in the first input, where they are nothing but that; values follow."""
    demand: DemandRule | NotFollowed = READS_ALL
    """Which elements of the inputs some elements of the first output need."""
    fold: FoldRule | NotFollowed = NO_SHAPE_ARITHMETIC
    """What it makes of known integers."""
    of: Operator | None = None
    """For an alias: the operator it stands for."""
    epilogue: str = ""
    """Computation that an alias appends to its operator."""
    own_numbers: bool = False
    """Whether an alias has the shapes of the operator that it stands for alone, and computes other numbers."""

    @property
    def known(self) -> bool:
        """Whether the registry has the operator."""
        return bool(self.name)

    @property
    def free(self) -> bool:
        """Whether nothing is computed at run time: the same bytes or numbers, or no data at all."""
        return self.elements in UNCHANGED | CONVERTED | NO_DATA

    @property
    def moves(self) -> bool:
        """Whether the result holds elements of the inputs and nothing else, whatever their values."""
        return self.elements in MOVING | {Elements.JOINED}

    @property
    def keeps_scale(self) -> bool:
        """Whether the result holds nothing but elements of the first input and zeros."""
        return self.elements in MOVING | {Elements.SELECTED}

    @property
    def carries_sizes(self) -> bool:
        """Whether sizes of tensors that it is given as data are followed through it."""
        return not isinstance(self.sizes, NotFollowed)

    @property
    def quantizes(self) -> bool:
        """QuantizeLinear of any domain."""
        return self.elements is Elements.QUANTIZED

    @property
    def dequantizes(self) -> bool:
        """DequantizeLinear of any domain."""
        return self.elements is Elements.DEQUANTIZED

    def new_element(self, position: int, inputs: int) -> NewElement | NotFollowed:
        """What a new element of an input is, in a node with this many inputs."""
        if isinstance(self.new_lane, NotFollowed):
            return self.new_lane
        if self.roles.holds_parameters(position, inputs):
            return NewElement.SERVING
        return NewElement.ONE if position in self.new_lane.ones else self.new_lane.element

    @property
    def root(self) -> Operator:
        """Operator at the end of the chain of aliases; the record itself where it is none."""
        return self if self.of is None else self.of.root

    @property
    def canonical(self) -> str:
        """Name of the operator that it is, whatever a format calls it."""
        return self.name if self.own_numbers else self.root.name


def alias(name: str, domain: str, of: Operator, **facets: Any) -> Operator:
    """Record of an operator that stands for another: the facets of the other, but for those that are given."""
    return replace(of, name=name, domain=domain, of=of, **facets)
