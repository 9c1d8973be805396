"""Whether two model files compute the same for every input, in the integer arithmetic of the device.

The meaning is TensorFlow Lite's specification of quantized operators: a layer sums whole numbers, and one fixed-point
multiplication takes the sum to the result's scale. Both files are read into one table of numbers. A lane (a channel
over its plane, or one element) gets the number of what it computes, written in a form that does not depend on how the
file says it. Lanes with one number are equal on every input, so nothing has to be known about how a file was changed:

* a sum is a set of (lane, place in the window, weight), without weights of 0 and places that no window meets;
* lanes that are constant go into the bias, or stay as a border where padding meets them;
* a lane is constant where the least and the greatest sum come out as one number, as requantization is monotone;
* what only moves elements gives them other places and no other numbers;
* any other operator gives equal results for equal operands, and nothing more is said about it.

The induction runs over the nodes: each function below keeps "one number, one value" if its operands have it. Nothing is
imported but what reads a file. What is not covered raises NotCoveredError, and ends in an answer that is not "equal".
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import TFLITE, Graph, Node, StoredQuantization
from onnxlint_cmsis.model.roles import Form, Sums
from onnxlint_cmsis.operators.record import MICROSOFT, Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.formats.format import LoadedFile

    Ids = NDArray[np.int64]
    Array = NDArray[Any]

MOST_ELEMENTS = 1 << 20
"""Elements of the largest tensor whose elements get a number each."""
MOST_NUMBERS = 1 << 21
"""Numbers that two files may need in all: they take some 300 bytes each."""
OFFSETS = {"uint4": 8, "uint8": 128, "uint16": 32768}
"""What unsigned integers are less by on the device, which holds signed ones."""
BITS = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16}
"""Bits of the types that tensors are stored in."""
LONGEST_SUM = {4: 31, 8: 31, 16: 47}
"""Bits of a sum and its parts: int32; for int16 as MultiplyByQuantizedMultiplier(int64_t) asks (kernels/internal)."""


class NotCoveredError(Exception):
    """An operator, or a use of it, that is not described here."""


DAMAGED = (NotCoveredError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""Errors that end in "not covered": sizes of a damaged file fit nothing, and what is not covered is not equal."""


# Requantization, as TensorFlow Lite defines it (tensorflow/lite/kernels/internal/quantization_util.cc, common.h).


def away(value: float) -> int:
    """The nearest whole number; halves go away from 0 (TfLiteRound)."""
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def quantized_multiplier(real: float) -> tuple[int, int]:
    """Multiplier of 31 bits and shift (QuantizeMultiplier). Raises NotCoveredError for what is no factor."""
    if not 0 < real < math.inf:
        raise NotCoveredError(f"its factor is {real}")
    fraction, shift = math.frexp(real)
    multiplier = away(fraction * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift > 30:
        raise NotCoveredError(f"its factor is {real}")
    return (0, 0) if shift < -31 else (multiplier, shift)


def requantized(value: int, multiplier: int, shift: int, bits: int) -> tuple[int, ...]:
    """A sum times multiplier * 2**(shift - 31), by each way of rounding that a device may be built for.

    Two roundings (the default), one (TFLITE_SINGLE_ROUNDING, CMSIS_NN_USE_SINGLE_ROUNDING) and, for int16, one with a
    multiplier of 16 bits. All are monotone in the sum. Raises NotCoveredError where the shift to the left overflows.
    """
    left, right = max(shift, 0), max(-shift, 0)
    if bits == 16:
        short = 0x7FFF if multiplier >= 0x7FFF0000 else (multiplier + (1 << 15)) >> 16
        wide = (value * short + (1 << (14 - shift))) >> (15 - shift) if shift < 15 else value * short << (shift - 15)
        return (wide,)
    shifted = value << left
    if not -(2**31) <= shifted < 2**31:
        raise NotCoveredError("its shift to the left overflows")
    product = shifted * multiplier
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    high = nudged >> 31 if nudged >= 0 else -(-nudged >> 31)
    mask = (1 << right) - 1
    twice = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
    return twice, (value * multiplier + (1 << (30 - shift))) >> (31 - shift)


# The table: a number for each thing that a lane may compute.


Key = tuple[Any, ...]


def few(shape: Sequence[int]) -> int:
    """Elements of a tensor; NotCoveredError where they are too many to get a number each."""
    if math.prod(shape) > MOST_ELEMENTS:
        raise NotCoveredError(f"a tensor has {math.prod(shape):,} elements; {MOST_ELEMENTS:,} are looked at")
    return math.prod(shape)


class Numbers:
    """Numbers of lanes, shared by both files; `low` and `high` bound what a lane of integers may hold."""

    def __init__(self, most: int = MOST_NUMBERS) -> None:
        self.most = most
        self.number_of: dict[Key, int] = {}
        self.key: list[Key] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.unsettled: set[int] = set()
        """Sums, and what reads one, that no requantization has taken to integers: floats add in the order of lanes."""

    def number(self, key: Key, low: float = -math.inf, high: float = math.inf, of: Iterable[int] = ()) -> int:
        """The number of a key; `of` are the lanes it is computed from. NotCoveredError where there are too many."""
        known = self.number_of.get(key)
        if known is None:
            if len(self.key) >= self.most:
                raise NotCoveredError(f"the files need more than {self.most:,} numbers of lanes and elements")
            known = self.number_of[key] = len(self.key)
            self.key.append(key)
            self.low.append(low)
            self.high.append(high)
            if not self.unsettled.isdisjoint(of):
                self.unsettled.add(known)
        return known

    def constant(self, value: int) -> int:
        """The lane that holds one integer for every input."""
        return self.number(("constant", value), value, value)

    def elements(self, key: Key, count: int, low: float, high: float) -> Ids:
        """Numbers of things that are known by a name and a place alone."""
        return np.array([self.number((*key, position), low, high) for position in range(count)], np.int64)

    def is_constant(self, number: int) -> bool:
        """Whether a lane holds one integer for every input."""
        return bool(self.key[number][0] == "constant")

    def mapped(self, ids: Ids, function: Callable[[int], int]) -> Ids:
        """A function of each lane, asked once for each number."""
        unique, inverse = np.unique(ids, return_inverse=True)
        return np.array([function(int(number)) for number in unique], np.int64)[inverse].reshape(ids.shape)

    # A lane over a plane, in row-major order, and its elements.

    def at(self, number: int, position: int, count: int) -> int:
        """The element at a place of a lane of `count` elements."""
        key = self.key[number]
        if key[0] in UNIFORM or count == 1:
            return number
        if key[0] == "stack":
            return int(np.frombuffer(key[1], np.int64)[position])
        return self.number(("at", number, position, count), self.low[number], self.high[number], (number,))

    def stacked(self, members: Ids) -> int:
        """The lane with these elements."""
        first = int(members[0])
        key, count = self.key[first], len(members)
        if (key[0] in UNIFORM and (members == first).all()) or count == 1:
            return first
        whole = ((("at", key[1], position, count), self.key[member]) for position, member in enumerate(members))
        if key[0] == "at" and key[3] == count and all(want == have for want, have in whole):
            return int(key[1])
        lows, highs = [self.low[member] for member in members], [self.high[member] for member in members]
        return self.number(("stack", members.tobytes()), min(lows), max(highs), map(int, members))


UNIFORM = ("constant", "figure")
"""Lanes whose elements are all the same: one integer, one real number."""


def digest(array: Array) -> bytes:
    """What stands for the bytes of an array, with its type and shape."""
    return hashlib.sha256(
        repr((array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes()
    ).digest()


# Tensors: what stands in the file, and lanes of numbers.


class Fixed(NamedTuple):
    """A constant of the file, or what only moves its elements."""

    array: Array
    """As it is stored."""
    scale: Array | None = None
    """Scale of each element, where the stored integers stand for real numbers."""
    zero: Array | None = None
    """Zero-point of each element."""

    def moved(self, move: Callable[[Array], Array]) -> Fixed:
        """With its elements at other places."""
        if self.scale is None or self.zero is None:
            return Fixed(move(self.array))
        scale, zero = (move(np.broadcast_to(part, self.array.shape)) for part in (self.scale, self.zero))
        return Fixed(move(self.array), scale, zero)

    @property
    def real(self) -> Array:
        """The real numbers."""
        if self.scale is None or self.zero is None:
            return self.array.astype(np.float64)
        return (self.array.astype(np.float64) - self.zero) * self.scale


class Lanes(NamedTuple):
    """A tensor that is computed: integers with or without their scale, or real numbers where `integers` is False."""

    ids: Ids
    """Numbers; an axis of the plane has size 1 here."""
    shape: tuple[int, ...]
    """Sizes of the tensor."""
    plane: tuple[int, ...] = ()
    """Axes that one lane lies over, each of 2 and more, in their order."""
    integers: bool = False
    """Whether elements are integers of 16 bits at most."""
    scale: float = 0.0
    """Scale of integers that stand for real numbers; 0 where they are taken as they are."""
    zero: int = 0
    """Zero-point, as the device holds it."""
    bits: int = 8
    """Bits of the integers."""


Value = Fixed | Lanes


class Quantization(NamedTuple):
    """Scale and zero-point of a tensor of integers."""

    scale: float
    """One scale."""
    zero: int
    """Zero-point, as the device holds it."""
    bits: int
    """Bits of the integers."""

    @property
    def least(self) -> int:
        """The least integer."""
        return -(1 << (self.bits - 1))

    def step(self, real: float) -> int:
        """A bound of an activation in integers, inside what the type holds."""
        if math.isinf(real):
            return self.least if real < 0 else -self.least - 1
        steps = away(float(np.float32(real) / np.float32(self.scale)))
        return min(max(self.zero + steps, self.least), -self.least - 1)


class Window(NamedTuple):
    """How a window slides along the plane; a number for each spatial axis."""

    kernel: tuple[int, ...]
    """Sizes."""
    strides: tuple[int, ...]
    """Steps."""
    dilations: tuple[int, ...]
    """Distances between its places."""
    before: tuple[int, ...]
    """Padding in front."""
    sizes: tuple[int, ...]
    """Sizes of the plane it slides along."""
    result_sizes: tuple[int, ...]
    """Sizes of the result."""


ACTIVATIONS = {
    "Relu": (0.0, math.inf),
    "RELU": (0.0, math.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Bounds of functions that only clamp, and of fused activations."""
CURVES = frozenset({
    *("Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Exp", "Log", "Sqrt", "Abs", "Neg", "Erf"),
    *("Gelu", "Softplus", "Softsign", "Round", "Floor", "Ceil", "Sin", "Cos", "Celu", "Selu", "SQUARE", "RSQRT"),
})  # fmt: skip
"""Functions of one element and of attributes alone."""
PAIRS = frozenset({"Add", "Mul", "Sub", "Div", "Max", "Min", "SQUARED_DIFFERENCE", "PRelu"})
"""Functions of two elements."""
SYMMETRIC = ("Add", "Mul", "Max", "Min")
"""Pairs whose operands may change places."""


class Model:
    """One file, read into the table; `values` holds what its tensors compute."""

    def __init__(self, loaded: LoadedFile, table: Numbers) -> None:
        self.graph: Graph = loaded.graph
        self.read = loaded.reader()
        self.table = table
        self.values: dict[str, Value] = {}
        self.opaque: dict[int, str] = {}
        """Why nothing but "equal operands, equal result" is known of a node, by its index."""
        self.missing: dict[str, str] = {}
        """Why nothing at all is known of a tensor."""
        self.rounded: dict[str, tuple[Lanes, Quantization]] = {}
        """Real numbers that a result is rounded from, and to what, by its name: nothing here rests on them."""
        for position, name in enumerate(self.graph.inputs):
            try:
                self.values[name] = self._named(("input", position), name)
            except NotCoveredError as error:
                self.missing[name] = str(error)
        for node in self.graph.nodes:
            self._run(node)

    # From nodes to values.

    def _named(self, key: Key, name: str) -> Lanes:
        """A tensor of which only the name is known: each element is a number of its own."""
        shape, elem_type = self.shape(name), self.graph.elem_type(name)
        bits = BITS.get(elem_type, 0)
        top = (1 << bits - 1) if bits else math.inf
        ids = self.table.elements((*key, elem_type), few(shape), -top, top - 1 if bits else top)
        return Lanes(ids.reshape(shape), shape, integers=bool(bits), bits=bits or 8)

    def _run(self, node: Node) -> None:
        """Values of a node's outputs: what its operator makes, else numbers that stand for an unknown function."""
        outputs = [name for name in node.outputs if name]
        if all(name in self.graph.constants for name in outputs):
            return
        try:
            self.values.update(self._made(node, outputs))
        except DAMAGED as error:
            self.opaque[node.index] = str(error)
            try:
                key = self._said(node)
                self.values.update({n: self._named(("result", key, position), n) for position, n in enumerate(outputs)})
            except DAMAGED as nothing:
                known = str(nothing) in self.missing.values()
                told = str(nothing) if known else f"{node.label} ({node.op_type}): {nothing}"
                self.missing.update(dict.fromkeys(outputs, told))

    def _made(self, node: Node, outputs: Sequence[str]) -> dict[str, Value]:
        """What the outputs of a described operator hold."""
        function = FUNCTIONS.get(canonical(node))
        if function is None or node.graph or node.bodies or node.domain not in DOMAINS:
            raise NotCoveredError(f"{node.op_type} is not described")
        results = function(self, node)
        values = dict(zip(outputs, results if isinstance(results, list) else [results], strict=True))
        for name, value in values.items():
            if name in self.values or (isinstance(value, Lanes) and value.shape != self.shape(name)):
                raise NotCoveredError(f"the file says {list(self.shape(name))} of its result")
        return values

    def _said(self, node: Node) -> bytes:
        """All that a node and its operands say; NotCoveredError for what may not be a function of its operands."""
        record = operator_of(node)
        if not record.canonical or node.graph or node.bodies or node.domain not in DOMAINS:
            raise NotCoveredError("nobody knows what it computes")
        hidden = record.canonical in HIDDEN or (node.op_type == "Dropout" and node.has(2))
        hidden |= node.domain == TFLITE and record.canonical in GATED
        if record.elements in (Elements.RANDOM, Elements.BODIES) or hidden:
            raise NotCoveredError("what it computes does not stand in its operands")
        if self.graph.variables & {*node.inputs, *node.outputs} or node.index in self.graph.once:
            raise NotCoveredError("it keeps values from one run to the next")
        names = [*node.inputs, *(node.outputs if node.domain == TFLITE else ())]
        stored = [self.graph.quantization.get(name) for name in names]
        shapes = [(self.shape(name), self.graph.elem_type(name)) for name in node.outputs if name]
        operands = [self.exact(name) for name in node.inputs]
        told = (node.domain, node.op_type, node.opset, sorted(node.attributes.items()), stored, shapes, operands)
        return hashlib.sha256(repr(told).encode()).digest()

    def exact(self, name: str) -> bytes:
        """What stands for an operand where nothing is known of its reader: a sum of floats is not reordered."""
        if not name:
            return bytes(32)
        value = self.value(name)
        if isinstance(value, Fixed):
            parts = [b"" if part is None else digest(np.asarray(part)) for part in value]
        elif not value.integers and self.table.unsettled.intersection(map(int, value.ids.flat)):
            producer = self.graph.producers[name]
            parts = [self._said(producer), bytes([producer.outputs.index(name)])]
        else:
            parts = [digest(self.spread(value).ids), *(str(part).encode() for part in value[3:])]
        return hashlib.sha256(repr((parts, self.graph.elem_type(name))).encode()).digest()

    # Operands and results, by the three ways to say a scale: nodes around, inputs of the node, or on the tensor.

    def shape(self, name: str) -> tuple[int, ...]:
        """Sizes of a tensor; NotCoveredError where one is open."""
        shape = self.graph.shape(name)
        if shape is None or None in shape:
            raise NotCoveredError(f"the size of '{name}' is not known")
        return tuple(size or 0 for size in shape)

    def value(self, name: str) -> Value:
        """What a tensor holds."""
        if name in self.graph.constants and name not in self.values:
            self._stays(name)
            array = self.read(name)
            if array is None:
                raise NotCoveredError(f"'{name}' cannot be read")
            self.values[name] = Fixed(array)
        if name not in self.values:
            raise NotCoveredError(self.missing.get(name, f"nothing makes '{name}'"))
        return self.values[name]

    def _stays(self, name: str) -> None:
        """Raise NotCoveredError for a constant that a caller may replace, and for what is folded from one."""
        if self.graph.constants[name].overridable:
            raise NotCoveredError(f"a caller may replace '{name}'")
        producer = self.graph.producers.get(name)
        for source in producer.inputs if producer else ():
            if source in self.graph.constants:
                self._stays(source)

    def operand(self, node: Node, position: int) -> Value:
        """An operand, with the scale that its integers have."""
        if not node.has(position):
            raise NotCoveredError(f"input {position} is left out")
        name = node.inputs[position]
        value = self.value(name)
        for triple in self.triples(node):
            if triple.value == position:
                scales = self.numbers(node, triple.scale), self.zeros(node, triple.zero_point)
                return self.scaled(name, *scales, AXES_OF_SCALES.get(canonical(node), 1))
        stored = self.graph.quantization.get(name)
        if stored is None or (isinstance(value, Lanes) and not value.integers) or not stored.scales:
            return value
        return self.scaled(name, *stored_numbers(stored), stored.axis)

    def triples(self, node: Node) -> Sequence[Any]:
        """Operands with scales beside them; a node that only quantizes is none."""
        operator = operator_of(node)
        return () if operator.quantizes or operator.dequantizes else operator.roles.quantized_of(len(node.inputs))

    def numbers(self, node: Node, position: int) -> Array:
        """Numbers that a constant input states."""
        value = self.value(node.inputs[position]) if node.has(position) else None
        if not isinstance(value, Fixed):
            raise NotCoveredError(f"input {position} is no constant")
        return value.array

    def zeros(self, node: Node, position: int) -> Array:
        """Zero-points that an input states, 0 where it is left out."""
        return self.numbers(node, position) if node.has(position) else np.zeros(1, np.int64)

    def scaled(self, name: str, scale: Array, zero: Array, axis: int) -> Value:
        """A tensor of integers as real numbers."""
        value = self.value(name)
        if not (np.isfinite(scale) & (scale > 0)).all():
            raise NotCoveredError("a scale is not above 0")
        if isinstance(value, Fixed):
            rank = value.array.ndim
            if max(scale.size, zero.size) > 1 and not -rank <= axis < rank:
                raise NotCoveredError("scales lie along no axis")
            along = [-1 if position == axis % rank else 1 for position in range(rank)] if rank else [-1]
            spread = [part.reshape(along if part.size > 1 else [1] * rank) for part in (scale, zero)]
            sizes = np.broadcast_shapes(value.array.shape, spread[0].shape, spread[1].shape)
            if value.scale is not None or value.array.dtype.kind not in "iu" or sizes != value.array.shape:
                raise NotCoveredError("scales do not fit their integers")
            return Fixed(value.array, *(np.broadcast_to(part, sizes).astype(np.float64) for part in spread))
        if scale.size != 1 or zero.size != 1 or not value.integers or value.scale:
            raise NotCoveredError("a computed tensor has several scales")
        zero_point = int(zero.item()) - OFFSETS.get(self.graph.elem_type(name), 0)
        return value._replace(scale=float(scale.item()), zero=zero_point)

    def lanes(self, node: Node, position: int) -> Lanes:
        """An operand as lanes, be it a constant or not."""
        value = self.operand(node, position)
        return value if isinstance(value, Lanes) else self.of_constant(value)

    def of_constant(self, value: Fixed) -> Lanes:
        """A constant as lanes."""
        name = value.array.dtype.name
        few(value.array.shape)
        if value.scale is None or value.zero is None:
            if value.array.dtype.kind != "f":
                raise NotCoveredError("integers without a scale")
            numbers = [self.table.number(("figure", figure)) for figure in value.array.astype(float).flat]
            return Lanes(np.array(numbers, np.int64).reshape(value.array.shape), value.array.shape)
        if name not in BITS or np.unique(value.scale).size > 1 or np.unique(value.zero).size > 1:
            raise NotCoveredError("a constant operand has several scales")
        offset = OFFSETS.get(name, 0)
        ids = self.table.mapped(value.array.astype(np.int64), lambda number: self.table.constant(number - offset))
        zero = int(value.zero.flat[0]) - offset
        return Lanes(ids, value.array.shape, (), True, float(value.scale.flat[0]), zero, BITS[name])

    def finished(self, node: Node, value: Lanes) -> Lanes:
        """A result behind the activation that the node ends in, in the integers that it is to be stored in."""
        fused = node.text("fused_activation_function", "NONE")
        if fused != "NONE":
            if fused not in ACTIVATIONS:
                raise NotCoveredError(f"it ends in {fused}")
            value = self.clipped(value, *ACTIVATIONS[fused])
        stated = self.stated(node)
        return value if stated is None else self.settled(node, value, stated)

    def stated(self, node: Node) -> Quantization | None:
        """The quantization of a node's result, where the node or its tensor has it."""
        elem_type = self.graph.elem_type(node.outputs[0])
        for triple in self.triples(node):
            if triple.value == -1 and triple.scale >= 0:
                return quantization(self.numbers(node, triple.scale), self.zeros(node, triple.zero_point), elem_type)
        stored = self.graph.quantization.get(node.outputs[0])
        return quantization(*stored_numbers(stored), elem_type) if stored and elem_type in BITS else None

    def copies(self, node: Node, *positions: int) -> None:
        """Raise NotCoveredError where TensorFlow Lite's kernel takes integers as they are, and the scales differ."""
        names = (*(node.inputs[position] for position in positions), node.outputs[0])
        if len({self.graph.quantization.get(name) for name in names}) > 1:
            raise NotCoveredError("it copies integers to another scale")

    # Which axes one lane lies over.

    def spread(self, value: Lanes) -> Lanes:
        """With a number for each element."""
        if not value.plane:
            return value
        sizes = tuple(value.shape[axis] for axis in value.plane)
        count = math.prod(sizes) if few(value.shape) else 0
        unique, inverse = np.unique(value.ids, return_inverse=True)
        rows = np.array(
            [[self.table.at(int(n), position, count) for position in range(count)] for n in unique], np.int64
        )
        kept = [size for axis, size in enumerate(value.shape) if axis not in value.plane]
        order = [*(axis for axis in range(len(value.shape)) if axis not in value.plane), *value.plane]
        flat = rows[inverse.reshape(-1)].reshape(*kept, *sizes)
        return value._replace(ids=flat.transpose(np.argsort(order)), plane=())

    def over(self, value: Lanes, axes: Sequence[int]) -> Lanes:
        """With lanes that lie over these axes, as far as these are longer than 1, and over no others."""
        plane = tuple(axis for axis in axes if value.shape[axis] > 1)
        if value.plane == plane:
            return value
        value = self.spread(value)
        if not plane:
            return value
        kept = [axis for axis in range(len(value.shape)) if axis not in plane]
        rows = value.ids.transpose([*kept, *plane]).reshape(-1, math.prod(value.shape[axis] for axis in plane))
        ids = np.array([self.table.stacked(row) for row in rows], np.int64)
        sizes = [1 if axis in plane else size for axis, size in enumerate(value.shape)]
        return value._replace(ids=ids.reshape(sizes), plane=plane)

    def turned(self, value: Value, order: Sequence[int]) -> Value:
        """With its axes in another order."""
        return (
            value.moved(lambda a: a.transpose(order)) if isinstance(value, Fixed) else self.turned_lanes(value, order)
        )

    def turned_lanes(self, value: Lanes, order: Sequence[int]) -> Lanes:
        """With its axes in another order."""
        plane = [order.index(axis) for axis in value.plane]
        if plane != sorted(plane):
            value, plane = self.spread(value), []
        shape = tuple(value.shape[axis] for axis in order)
        return value._replace(ids=value.ids.transpose(order), shape=shape, plane=tuple(plane))

    def regrouped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """With the same elements in their order, and other sizes."""
        if isinstance(value, Fixed):
            return value.moved(lambda array: array.reshape(shape))
        if math.prod(value.shape) != math.prod(shape):
            raise NotCoveredError(f"{list(value.shape)} does not become {list(shape)}")
        plane: list[int] = []
        for old, new in groups(value.shape, shape):
            long = [axis for axis in old if value.shape[axis] > 1]
            inside = [axis for axis in long if axis in value.plane]
            if inside and inside != long:
                value, plane = self.spread(value), []
                break
            plane += [axis for axis in new if shape[axis] > 1] if inside else []
        sizes = [1 if axis in plane else size for axis, size in enumerate(shape)]
        return value._replace(ids=value.ids.reshape(sizes), shape=shape, plane=tuple(plane))

    # Results: functions of lanes, sums over lanes, and what their integers are.

    def real(self, value: Lanes) -> Lanes:
        """Real numbers, of which integers with a scale are some."""
        if not value.integers:
            return value
        if not value.scale:
            raise NotCoveredError("it computes with integers that have no scale")
        ids = self.table.mapped(
            value.ids, lambda number: self.table.number(("real", number, value.scale, value.zero), of=(number,))
        )
        return Lanes(ids, value.shape, value.plane)

    def clipped(self, value: Lanes, low: float, high: float) -> Lanes:
        """Real numbers between two bounds."""
        if not low <= high:
            raise NotCoveredError(f"its bounds are {low} and {high}")
        value, table = self.real(value), self.table
        ids = table.mapped(value.ids, lambda number: table.number(("clip", number, low, high), of=(number,)))
        return value._replace(ids=ids)

    def settled(self, node: Node, value: Lanes, stated: Quantization) -> Lanes:
        """Real numbers as the integers of a scale."""
        value = self.real(value)
        self.rounded[node.outputs[0]] = value, stated
        ids = self.table.mapped(value.ids, lambda number: settle(self.table, number, stated))
        return Lanes(ids, value.shape, value.plane, True, 0.0, 0, stated.bits)

    def paired(self, left: Lanes, right: Lanes, key: Key) -> Lanes:
        """A function of two real operands, element by element."""
        left, right, table = self.real(left), self.real(right), self.table
        shape = np.broadcast_shapes(left.shape, right.shape)
        rank = len(shape)
        left, right = (self._ranked(part, rank) for part in (left, right))
        plane = sorted({*left.plane, *right.plane})
        parts = [self.over(part, [axis for axis in plane if part.shape[axis] > 1]) for part in (left, right)]
        for part in parts:
            partly = [axis for axis in plane if part.shape[axis] > 1]
            if partly and partly != plane:
                parts, plane = [self.spread(part) for part in parts], []
                break
        first, second = np.broadcast_arrays(*(part.ids for part in parts))
        pairs = np.stack([first.reshape(-1), second.reshape(-1)], axis=1)
        if key[0] in SYMMETRIC:
            pairs = np.sort(pairs, axis=1)
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        numbers = [table.number((*key, int(a), int(b)), of=(int(a), int(b))) for a, b in unique]
        ids = np.array(numbers, np.int64)[inverse.reshape(-1)].reshape(first.shape)
        return Lanes(ids, shape, tuple(plane))

    def _ranked(self, value: Lanes, rank: int) -> Lanes:
        """With axes of size 1 in front."""
        missing = rank - len(value.shape)
        plane = tuple(axis + missing for axis in value.plane)
        shape = (1,) * missing + value.shape
        return value._replace(ids=value.ids.reshape((1,) * missing + value.ids.shape), shape=shape, plane=plane)

    def summed(self, x: Lanes, weights: Fixed, bias: Fixed | None, groups: int, window: Window) -> Lanes:
        """The sum of a layer with weights, before requantization.

        `x` is [batch, channels, ...] of integers with a scale, `weights` [out_c, channels / groups, ...].
        """
        table = self.table
        if not x.integers or not x.scale or weights.scale is None or weights.zero is None:
            raise NotCoveredError("it sums real numbers, of which the order matters")
        axes = range(2, len(x.shape))
        x, window = self._unpadded(self.over(x, axes), window)
        count, inner = weights.array.shape[:2]
        if x.shape[1] != inner * groups or count % groups:
            raise NotCoveredError(f"its weights are {list(weights.array.shape)}, its input {list(x.shape)}")
        factors = (weights.array.astype(np.int64) - np.asarray(weights.zero, np.int64)).reshape(count, inner, -1)
        scales = np.broadcast_to(weights.scale, weights.array.shape).reshape(count, -1)
        if (scales != scales[:, :1]).any():
            raise NotCoveredError("the weights of a lane have several scales")
        steps = [x.scale * float(scale) for scale in scales[:, 0]]
        biases = in_steps(bias, steps, count)
        longest = (np.abs(factors).sum(axis=(1, 2)) * ((1 << x.bits) - 1)).tolist()
        if any(size + abs(start) >= 1 << LONGEST_SUM[x.bits] for size, start in zip(longest, biases, strict=True)):
            raise NotCoveredError(f"a sum may need more than {LONGEST_SUM[x.bits] + 1} bits")
        taps = taps_of(window)
        parts = [slice(group * count // groups, (group + 1) * count // groups) for group in range(groups)]
        sums: list[int] = []
        for row, lanes in enumerate(x.ids.reshape(-1, inner)):
            part = parts[row % groups]
            sums += self._sums(lanes, factors[part], biases[part], (x.zero, x.bits), taps)
        ids = np.array([table.number(("scaled", *of)) for of in zip(sums, steps * x.shape[0], strict=True)], np.int64)
        table.unsettled.update(ids.reshape(-1).tolist())
        shape = (x.shape[0], count, *window.result_sizes)
        plane = tuple(axis for axis in axes if shape[axis] > 1)
        return Lanes(ids.reshape(x.shape[0], count, *(1 for _ in axes)), shape, plane)

    def _unpadded(self, x: Lanes, window: Window) -> tuple[Lanes, Window]:
        """The lanes behind a Pad with the zero-point, whose amounts go into the window."""
        keys = [self.table.key[number] for number in x.ids.flat]
        pads = {key[2:] for key in keys if key[0] == "pad"}
        held = [key for key in keys if key[0] != "pad"]
        if len(pads) != 1 or any(key != ("constant", x.zero) for key in held):
            return x, window
        ((sizes, before, _made, value),) = pads
        if value != x.zero or len(sizes) != len(window.sizes):
            return x, window
        ids = np.array([key[1] if key[0] == "pad" else n for key, n in zip(keys, x.ids.flat, strict=True)], np.int64)
        shape = (*x.shape[:2], *sizes)
        plane = tuple(axis for axis in range(2, len(shape)) if shape[axis] > 1)
        moved = tuple(start + more for start, more in zip(window.before, before, strict=True))
        x = x._replace(ids=ids.reshape(x.ids.shape), shape=shape, plane=plane)
        return x, window._replace(before=moved, sizes=sizes)

    def _sums(
        self, lanes: Ids, factors: Array, biases: Sequence[float], zero_and_bits: tuple[int, int], taps: Taps
    ) -> Iterator[int]:
        """Numbers of the sums of one group: factors [out_c, channels, places of the window]."""
        table, (zero, bits) = self.table, zero_and_bits
        unique, inverse = np.unique(lanes, return_inverse=True)
        gathered = np.zeros((len(factors), len(unique), factors.shape[2]), np.int64)
        for source, target in enumerate(inverse.reshape(-1)):
            gathered[:, target] += factors[:, source]
        gathered[:, :, ~taps.meets] = 0
        fixed = np.array([table.is_constant(int(number)) for number in unique], bool)
        low, high = (np.array([side[int(n)] for n in unique], np.int64) - zero for side in (table.low, table.high))
        border = (gathered[:, fixed] * low[fixed][:, None]).sum(axis=1)
        inside = border[:, taps.always].sum(axis=1).tolist()
        starts = [start + more for start, more in zip(biases, inside, strict=True)]
        border[:, taps.always] = 0
        active, numbers = gathered[:, ~fixed], unique[~fixed]
        ends = active * low[~fixed][:, None], active * high[~fixed][:, None]
        least, most = np.minimum(*ends), np.maximum(*ends)
        partly = ~taps.always
        least[:, :, partly] = np.minimum(least[:, :, partly], 0)
        most[:, :, partly] = np.maximum(most[:, :, partly], 0)
        lows = least.sum(axis=(1, 2)) + np.minimum(border, 0).sum(axis=1)
        highs = most.sum(axis=(1, 2)) + np.maximum(border, 0).sum(axis=1)
        for position, start in enumerate(starts):
            lane, tap = np.nonzero(active[position])
            edge = np.flatnonzero(border[position])
            used = np.concatenate([tap, edge])
            terms = digest(numbers[lane]), digest(taps.offsets[tap]), digest(active[position][lane, tap])
            edges = digest(taps.offsets[edge]), digest(border[position][edge])
            key = ("sum", start, zero if used.size else 0, bits, taps.geometry(used), terms, edges)
            yield table.number(key, math.floor(start) + int(lows[position]), math.ceil(start) + int(highs[position]))


class Taps(NamedTuple):
    """The places of a window over its plane, axes of size 1 left out."""

    offsets: Array
    """Place of each, from where the result's first element lies: [places, axes]."""
    meets: Array
    """Whether some window has the place inside the plane."""
    always: Array
    """Whether all windows have."""
    covers: bool
    """Whether each window has some place inside the plane."""
    plane: Key
    """Sizes, result's sizes and strides, for each axis that is longer than 1."""

    def geometry(self, used: Array) -> Key:
        """What a sum over some of the places is, besides them; nothing for a sum at the place of the result."""
        sizes, result_sizes, strides = self.plane
        still = not self.offsets[used].any() and sizes == result_sizes and all(stride == 1 for stride in strides)
        return () if still else self.plane


def taps_of(window: Window) -> Taps:
    """The places of a window, in the order of its weights."""
    few((*window.kernel, max(window.result_sizes, default=1)))
    places = np.array(list(np.ndindex(*window.kernel)), np.int64).reshape(math.prod(window.kernel), -1)
    offsets = places * np.array(window.dilations, np.int64) - np.array(window.before, np.int64)
    meets, always, covers = np.ones(len(places), bool), np.ones(len(places), bool), True
    long = [
        n
        for n, (size, result_sizes) in enumerate(zip(window.sizes, window.result_sizes, strict=True))
        if max(size, result_sizes) > 1
    ]
    for axis, (size, result_sizes, stride) in enumerate(
        zip(window.sizes, window.result_sizes, window.strides, strict=True)
    ):
        starts = np.arange(result_sizes)[None, :] * stride + offsets[:, axis][:, None]
        inside = (starts >= 0) & (starts < size)
        meets &= inside.any(axis=1)
        always &= inside.all(axis=1)
        covers &= bool(inside.any(axis=0).all())
    strides = tuple(1 if window.result_sizes[n] == 1 else window.strides[n] for n in long)
    plane = tuple(window.sizes[n] for n in long), tuple(window.result_sizes[n] for n in long), strides
    return Taps(offsets[:, long], meets, always & meets, covers, plane)


def in_steps(bias: Fixed | None, steps: Sequence[float], count: int) -> list[int | float]:
    """The bias in steps of the sum: whole, but for a real one that lies between two steps."""
    if bias is None:
        return [0] * count
    if bias.array.shape != (count,):
        raise NotCoveredError(f"its bias is {list(bias.array.shape)}, not [{count}]")
    if bias.scale is None and bias.array.dtype.kind == "i":
        return [int(number) for number in bias.array]
    if bias.scale is not None and bias.zero is not None:
        near = [abs(scale - step) <= 1e-5 * step for scale, step in zip(bias.scale.flat, steps, strict=True)]
        if bias.zero.any() or not all(near):
            raise NotCoveredError("its bias has another scale than its sums")
        return [int(number) for number in bias.array]
    real = [float(number) / step for number, step in zip(bias.real, steps, strict=True)]
    if not all(abs(number) < 2**31 for number in real):
        raise NotCoveredError("its bias does not fit int32")
    return [away(number) if abs(number - away(number)) <= abs(number) * 2**-23 else number for number in real]


def groups(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of two shapes with the same elements that belong together: the smallest parts with equal products."""
    first = second = 0
    while first < len(old) or second < len(new):
        left, right = [first] if first < len(old) else [], [second] if second < len(new) else []
        first, second = first + len(left), second + len(right)
        while (a := math.prod(old[n] for n in left)) != (b := math.prod(new[n] for n in right)):
            if a < b or second >= len(new):
                left.append(first)
                first += 1
            else:
                right.append(second)
                second += 1
        yield left, right


def stored_numbers(stored: StoredQuantization) -> tuple[Array, Array]:
    """Scales and zero-points that a tensor keeps."""
    return np.array(stored.scales, np.float32), np.array(stored.zero_points or (0,))


def quantization(scale: Array, zero: Array, elem_type: str) -> Quantization:
    """One scale and zero-point for a tensor."""
    if scale.size != 1 or zero.size != 1 or elem_type not in BITS or not 0 < float(scale.item()) < math.inf:
        raise NotCoveredError("its result has no single scale")
    return Quantization(float(scale.item()), int(zero.item()) - OFFSETS.get(elem_type, 0), BITS[elem_type])


def settle(table: Numbers, number: int, stated: Quantization) -> int:
    """The integers that a lane of real numbers becomes in a scale."""
    key, least, most = table.key[number], stated.least, -stated.least - 1
    if key[0] == "clip" and table.key[key[1]][0] != "clip":
        least, most = stated.step(key[2]), stated.step(key[3])
        number, key = key[1], table.key[key[1]]
    steps: Sequence[Iterable[int]] | None = None
    if key[0] == "real":
        _, inner, scale, zero = key
        low, high = int(table.low[inner]), int(table.high[inner])
        if (scale, zero) == (stated.scale, stated.zero):
            if least <= low and high <= most:
                return int(inner)
            new: Key = ("clamp", inner, least, most)
            steps = (low - zero,), (high - zero,)
        else:
            multiplier, shift = quantized_multiplier(scale / stated.scale)
            new = ("rescale", inner, zero, multiplier, shift, stated, least, most)
            steps = tuple(requantized(end - zero, multiplier, shift, 8) for end in (low, high))
    elif key[0] == "scaled":
        _, inner, scale = key
        multiplier, shift = quantized_multiplier(scale / stated.scale)
        bits = table.key[inner][3]
        new = ("requantize", inner, multiplier, shift, stated.zero, stated.bits, least, most)
        try:
            ends = int(table.low[inner]), int(table.high[inner])
            ways = {bits, 8} if max(map(abs, ends)) < 2**31 else {bits}
            steps = tuple([r for way in ways for r in requantized(end, multiplier, shift, way)] for end in ends)
        except NotCoveredError:
            steps = None
    elif number in table.unsettled:
        raise NotCoveredError("it reads a sum that is never taken to integers")
    else:
        new = ("quantize", number, stated, least, most)
        steps = pair_steps(table, key, stated)
    if steps is None:
        return table.number(new, least, most)
    low, high = (
        pick(min(max(step + stated.zero, least), most) for step in side)
        for pick, side in zip((min, max), steps, strict=True)
    )
    return table.constant(low) if low == high else table.number(new, low, high)


def pair_steps(table: Numbers, key: Key, stated: Quantization) -> tuple[list[int], list[int]] | None:
    """Least and greatest steps of an Add or Mul of int8, or of an average; None where they are not known.

    tensorflow/lite/kernels/internal/reference/integer_ops/add.h and mul.h; both are monotone in each operand.
    """
    operands = [table.key[number] for number in key[-2:]] if key[0] in ("Add", "Mul") else []
    if key[0] == "average" and table.key[key[1]][0] == "real" and not any(key[-1]):
        _, inner, scale, zero = table.key[key[1]]
        if (scale, zero) == (stated.scale, stated.zero):
            return [int(table.low[inner]) - zero], [int(table.high[inner]) - zero]
    if len(operands) != 2 or stated.bits != 8 or any(operand[0] != "real" for operand in operands):
        return None
    ends = [[int(side[k[1]]) - k[3] for side in (table.low, table.high)] for k in operands]
    scales = [operand[2] for operand in operands]
    corners: list[int] = []
    try:
        for left in ends[0]:
            for right in ends[1]:
                if key[0] == "Mul":
                    corners += requantized(left * right, *quantized_multiplier(math.prod(scales) / stated.scale), 8)
                    continue
                twice = 2 * max(scales)
                parts = [
                    requantized(end << 20, *quantized_multiplier(scale / twice), 8)
                    for end, scale in zip((left, right), scales, strict=True)
                ]
                last = quantized_multiplier(twice / ((1 << 20) * stated.scale))
                for first, second in zip(*parts, strict=True):
                    corners += requantized(first + second, *last, 8)
    except NotCoveredError:
        return None
    return [min(corners)], [max(corners)]


# Operators: each function gives what a node makes of what its operands hold.


HIDDEN = ("Constant", "ConstantOfShape", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
"""Operators whose nodes hold more than the graph tells, such as tensors."""
GATED = ("LSTM", "SVDF", "BIDIRECTIONAL_SEQUENCE_LSTM")
"""Operators of TensorFlow Lite with scales between their gates, which the graph does not tell."""
RESHAPES = ("Reshape", "RESHAPE")
"""Names of the operator in files of both formats: each keeps its record."""
DOMAINS = ("", MICROSOFT, TFLITE)
"""Domains whose operators are described here, or by names and attributes alone."""
AXES_OF_SCALES = {"Conv": 0, "ConvTranspose": 1, "MatMul": -1, "Gemm": -1}
"""Axis of the weights' scales in operators that take scales as inputs."""


def dequantized(model: Model, node: Node) -> Value:
    """DequantizeLinear, DEQUANTIZE: the same integers, with their scale."""
    if node.domain == TFLITE:
        return model.operand(node, 0)
    if node.int("block_size"):
        raise NotCoveredError("it has scales for blocks")
    return model.scaled(node.inputs[0], model.numbers(node, 1), model.zeros(node, 2), node.int("axis", 1))


def quantized(model: Model, node: Node) -> Value:
    """QuantizeLinear, QUANTIZE."""
    if node.domain == TFLITE:
        return model.finished(node, model.lanes(node, 0))
    value, scale, zero = model.operand(node, 0), model.numbers(node, 1), model.zeros(node, 2)
    elem_type = model.graph.elem_type(node.outputs[0])
    if isinstance(value, Lanes):
        return model.settled(node, value, quantization(scale, zero, elem_type))
    if node.int("block_size") or value.scale is not None or value.array.dtype != np.float32 or elem_type not in BITS:
        raise NotCoveredError("it quantizes a constant that is computed")
    axis = node.int("axis", 1) % max(value.array.ndim, 1)
    along = [-1 if position == axis and scale.size > 1 else 1 for position in range(value.array.ndim)]
    offset, top = OFFSETS.get(elem_type, 0), 1 << (BITS[elem_type] - 1)
    steps = np.rint(value.array / scale.reshape(along)) + zero.astype(np.float32).reshape(along)
    return Fixed(np.clip(steps, offset - top, offset + top - 1).astype(elem_type.replace("4", "8")))


def window_of(node: Node, kernel: Sequence[int], sizes: Sequence[int], result_sizes: Sequence[int]) -> Window:
    """The window of a convolution or pooling, with its padding in front."""
    rank, ones, none = len(kernel), (1,) * len(kernel), (0,) * len(kernel)
    if node.domain == TFLITE:
        strides: tuple[int, ...] = (node.int("stride_h"), node.int("stride_w"))
        dilations: tuple[int, ...] = (node.int("dilation_h_factor", 1), node.int("dilation_w_factor", 1))
        pads, same = (*none, *none), node.text("padding") == "SAME"
    else:
        strides, dilations = node.ints("strides", ones), node.ints("dilations", ones)
        pads, same = node.ints("pads") or (*none, *none), False
        if node.text("auto_pad", "NOTSET") != "NOTSET":
            raise NotCoveredError("its padding is not written out")
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    if not len(strides) == len(sizes) == len(result_sizes) == rank or min((1, *strides)) < 1:
        raise NotCoveredError("its window does not fit its plane")
    ends = [*zip(sizes, strides, spans, strict=True)]
    if same:
        wanted = [-(-size // stride) for size, stride, _ in ends]
        missing = [(m - 1) * stride + span - size for (size, stride, span), m in zip(ends, wanted, strict=True)]
        before = tuple(max(number, 0) // 2 for number in missing)
    else:
        before, around = pads[:rank], [pads[n] + pads[n + len(pads) // 2] for n in range(rank)]
        wanted = [(size + more - span) // step + 1 for (size, step, span), more in zip(ends, around, strict=True)]
    if wanted != [*result_sizes] and not node.int("ceil_mode"):
        raise NotCoveredError("its result has another size than its window gives")
    return Window(tuple(kernel), strides, dilations, before, tuple(sizes), tuple(result_sizes))


def first(model: Model, value: Lanes, node: Node) -> tuple[Lanes, tuple[int, ...], list[int]]:
    """An image with its channels behind the batch, the sizes of the plane of the result, and the way back."""
    last = operator_of(node).roles.channels_last
    if node.int("channels_last"):
        raise NotCoveredError("its channels are last")
    rank, shape = len(value.shape), model.shape(node.outputs[0])
    order = [0, rank - 1, *range(1, rank - 1)] if last else [*range(rank)]
    turned = model.turned_lanes(value, order)
    return turned, tuple(shape[axis] for axis in order[2:]), [order.index(axis) for axis in range(rank)]


def convolution(model: Model, node: Node) -> Lanes:
    """Convolutions of all formats, depthwise and in groups."""
    roles = operator_of(node).roles
    if roles.form is None or roles.sums is Sums.SCALED:
        raise NotCoveredError("it scales its sums before the bias")
    value, weights = model.operand(node, roles.data[0]), model.operand(node, roles.weights[0])
    if not isinstance(value, Lanes) or not isinstance(weights, Fixed) or node.has(roles.summand):
        raise NotCoveredError("its weights are computed")
    x, result_sizes, back = first(model, value, node)
    rank = weights.array.ndim
    orders = {"O*I": [0, rank - 1, *range(1, rank - 1)], "1*O": [rank - 1, 0, *range(1, rank - 1)]}
    order = orders.get(roles.form.order, [*range(rank)])
    weights = weights.moved(lambda array: array.transpose(order))
    grouped = node.int("group", 1)
    if node.domain == TFLITE:
        grouped = x.shape[1] // max(weights.array.shape[1], 1)
    if node.text("activation"):
        raise NotCoveredError("it ends in an activation")
    window = window_of(node, weights.array.shape[2:], x.shape[2:], result_sizes)
    result = model.summed(x, weights, bias_of(model, node, roles.bias), grouped, window)
    return model.finished(node, model.turned_lanes(result, back))


def bias_of(model: Model, node: Node, position: int) -> Fixed | None:
    """The bias of a layer; None where it has none."""
    if position < 0 or not node.has(position):
        return None
    value = model.operand(node, position)
    if not isinstance(value, Fixed):
        raise NotCoveredError("its bias is computed")
    return value


def dense(model: Model, node: Node) -> Lanes:
    """Matrix products with constant weights: a convolution without a plane."""
    roles = operator_of(node).roles
    if roles.form is None or roles.sums is Sums.SCALED:
        raise NotCoveredError("it scales its sums before the bias")
    value, weights = model.operand(node, roles.data[0]), model.operand(node, roles.weights[0])
    if not isinstance(value, Lanes) or not isinstance(weights, Fixed) or weights.array.ndim != 2:
        raise NotCoveredError("it multiplies two computed tensors, or more than a matrix")
    others = ("transA", "transBatchA", "transBatchB", *(() if roles.form is Form.GEMM else ("transB",)))
    if (
        any(map(node.int, others))
        or node.attributes.get("alpha", 1.0) != 1.0
        or node.text("activation")
        or node.text("weights_format", "DEFAULT") != "DEFAULT"
    ):
        raise NotCoveredError("it does more than multiply by a matrix")
    if node.attributes.get("beta", 1.0) != 1.0 and node.has(roles.bias):
        raise NotCoveredError("it scales its bias")
    if roles.form is not Form.ROWS and not (roles.form is Form.GEMM and node.int("transB")):
        weights = weights.moved(lambda array: array.T)
    if node.domain == TFLITE:
        value = model.regrouped(value, (math.prod(value.shape) // weights.array.shape[1], weights.array.shape[1]))
        assert isinstance(value, Lanes)
    bias = bias_of(model, node, roles.bias)
    if bias is not None and bias.array.shape[:-1] == (1,):
        bias = bias.moved(lambda array: array.reshape(-1))
    rows, columns = math.prod(value.shape[:-1]), value.shape[-1]
    flat = model.spread(value)
    flat = flat._replace(ids=flat.ids.reshape(rows, columns), shape=(rows, columns))
    result = model.summed(flat, weights, bias, 1, Window((), (), (), (), (), ()))
    shape = model.shape(node.outputs[0])
    if math.prod(shape) != math.prod(result.shape):
        raise NotCoveredError("its result has another size")
    return model.finished(node, result._replace(ids=result.ids.reshape(shape), shape=shape))


def pair(model: Model, node: Node) -> Value:
    """Functions of two elements; what is added to a sum goes into its bias."""
    positions = [*operator_of(node).roles.data_of(node)]
    if len(positions) != 2:
        raise NotCoveredError("it has other than two operands")
    values = [model.operand(node, position) for position in positions]
    for value, other in zip(values, values[::-1], strict=True):
        if canonical(node) == "Add" and isinstance(value, Lanes) and isinstance(other, Fixed) and not value.integers:
            return model.finished(node, biased(model, value, other))
    left, right = (model.lanes(node, position) for position in positions)
    key = (canonical(node), *said(node))
    return model.finished(node, model.paired(left, right, key))


def said(node: Node) -> tuple[Any, ...]:
    """Attributes that a function is told by; nothing for those that have none."""
    kept = {k: v for k, v in node.attributes.items() if k != "fused_activation_function"}
    return (repr(sorted(kept.items())),) if kept else ()


def biased(model: Model, value: Lanes, bias: Fixed) -> Lanes:
    """Sums with a constant added."""
    table = model.table
    shape = np.broadcast_shapes(value.ids.shape, bias.array.shape)
    if shape != value.ids.shape or any(table.key[number][0] != "scaled" for number in value.ids.flat):
        return model.paired(value, model.of_constant(bias), ("Add",))
    spread = bias.moved(lambda array: np.broadcast_to(array, shape).reshape(-1))
    keys = [table.key[number] for number in value.ids.flat]
    numbers = []
    for (_, inner, step), more in zip(keys, in_steps(spread, [key[2] for key in keys], len(keys)), strict=True):
        _, start, *rest = table.key[inner]
        if max(abs(table.low[inner]), abs(table.high[inner])) + abs(more) >= 2**31:
            raise NotCoveredError("a sum may need more than 32 bits")
        ends = table.low[inner] + math.floor(more), table.high[inner] + math.ceil(more)
        total = table.number(("sum", start + more, *rest), *ends)
        numbers.append(table.number(("scaled", total, step)))
    table.unsettled.update(numbers)
    return value._replace(ids=np.array(numbers, np.int64).reshape(shape))


def clamp(model: Model, node: Node) -> Lanes:
    """Relu, Relu6, Clip."""
    bounds = ACTIVATIONS.get(canonical(node))
    if bounds is None:
        ends = [-math.inf, math.inf]
        for position, name in enumerate(("min", "max")):
            if node.has(position + 1):
                bound = model.operand(node, position + 1)
                if not isinstance(bound, Fixed) or bound.array.size != 1:
                    raise NotCoveredError("its bounds are computed")
                ends[position] = float(bound.real.item())
            elif isinstance(stated := node.attributes.get(name), float):
                ends[position] = stated
        bounds = ends[0], ends[1]
    return model.finished(node, model.clipped(model.lanes(node, 0), *bounds))


def curve(model: Model, node: Node) -> Lanes:
    """A function of one element, of which nothing but its name and attributes is known."""
    if len([name for name in node.inputs if name]) != 1 and not model.triples(node):
        raise NotCoveredError("it has further operands")
    value, table, key = model.real(model.lanes(node, 0)), model.table, ("curve", canonical(node), *said(node))
    ids = table.mapped(value.ids, lambda number: table.number((*key, number), of=(number,)))
    return model.finished(node, value._replace(ids=ids))


def pooling(model: Model, node: Node) -> Lanes:
    """The largest element of a window, or the average of those inside the plane."""
    model.copies(node, 0)
    x, result_sizes, back = first(model, model.lanes(node, 0), node)
    kernel = node.ints("kernel_shape") or (node.int("filter_height"), node.int("filter_width"))
    window = window_of(node, kernel, x.shape[2:], result_sizes)
    if node.int("storage_order") or len([name for name in node.outputs if name]) > 1:
        raise NotCoveredError("it gives places too")
    if not taps_of(window).covers:
        raise NotCoveredError("a window lies outside its plane")
    around = (node.int("ceil_mode"), *node.ints("pads")) if node.int("count_include_pad") else ()
    key = ("largest" if canonical(node) == "MaxPool" else "average", window, node.int("ceil_mode"), around)
    return model.finished(node, model.turned_lanes(pooled(model, x, key, result_sizes), back))


def pooled(model: Model, x: Lanes, key: Key, result_sizes: tuple[int, ...]) -> Lanes:
    """A function of each lane's plane that keeps what is the same everywhere."""
    table = model.table
    x = model.over(model.real(x) if key[0] == "average" else x, range(2, len(x.shape)))

    def function(number: int) -> int:
        if table.is_constant(number):
            return number
        return table.number((key[0], number, *key[1:]), table.low[number], table.high[number], of=(number,))

    shape = (*x.shape[:2], *result_sizes)
    plane = tuple(axis for axis in range(2, len(shape)) if shape[axis] > 1)
    return x._replace(ids=table.mapped(x.ids, function), shape=shape, plane=plane)


def mean(model: Model, node: Node) -> Lanes:
    """The average of whole planes: GlobalAveragePool, ReduceMean and MEAN over all axes but batch and channels."""
    x = model.lanes(node, 0)
    if node.int("channels_last"):
        raise NotCoveredError("its channels are last")
    rank, axes = len(x.shape), [*range(2, len(x.shape))]
    if canonical(node) == "ReduceMean":
        given = node.ints("axes") or tuple(int(n) for n in model.numbers(node, 1).flat)
        axes = sorted(axis_of(axis, rank) for axis in given)
    order = [axis for axis in range(rank) if axis not in axes] + axes
    if len(axes) != rank - 2 or not axes:
        raise NotCoveredError("it takes other axes together than those of a plane")
    turned = model.turned_lanes(x, order)
    key = ("average", "whole", turned.shape[2:], ())
    result = model.finished(node, pooled(model, turned, key, (1,) * (rank - 2)))
    shape = model.shape(node.outputs[0])
    if math.prod(shape) != math.prod(result.shape):
        raise NotCoveredError("its result has another size")
    return result._replace(ids=result.ids.reshape(shape), shape=shape, plane=())


def joined(model: Model, node: Node) -> Value:
    """Concatenation."""
    positions = [*operator_of(node).roles.data_of(node)]
    model.copies(node, *positions)
    parts = [model.lanes(node, position) for position in positions]
    if len({part[3:] for part in parts}) > 1 or model.triples(node):
        parts = [model.real(part) for part in parts]
    axis = axis_of(node.int("axis"), len(parts[0].shape))
    plane = sorted({n for part in parts for n in part.plane} - {axis})
    if any(axis in part.plane or part.plane != tuple(n for n in plane if part.shape[n] > 1) for part in parts):
        parts, plane = [model.spread(part) for part in parts], []
    ids = np.concatenate([part.ids for part in parts], axis=axis)
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    result = parts[0]._replace(ids=ids, shape=tuple(shape), plane=tuple(plane))
    return model.finished(node, result)


def axis_of(axis: int, count: int) -> int:
    """A place that may be counted from the end."""
    if not -count <= axis < count:
        raise NotCoveredError(f"{axis} is no place among {count}")
    return axis % count


def moved(model: Model, node: Node) -> Value:
    """Operators that rename or turn axes."""
    model.copies(node, 0)
    value, name = model.value(node.inputs[0]), canonical(node)
    if name == "Identity":
        return value
    if name in RESHAPES:
        sizes, stated = model.shape(node.outputs[0]), [int(n) for n in model.numbers(node, 1).flat]
        told = [-1 if size == 0 and node.domain != TFLITE else size for size in stated]
        if len(told) != len(sizes) or any(t not in (-1, size) for t, size in zip(told, sizes, strict=True)):
            raise NotCoveredError(f"it is to become {stated}, and its result is {list(sizes)}")
    elif name != "Transpose" and node.domain == TFLITE:
        raise NotCoveredError("its axes are not read")
    if name != "Transpose":
        return model.regrouped(value, model.shape(node.outputs[0]))
    rank = len(model.shape(node.outputs[0]))
    order = node.permutation(rank) if node.domain != TFLITE else tuple(int(n) for n in model.numbers(node, 1).flat)
    if order is None or sorted(order) != [*range(rank)]:
        raise NotCoveredError("its order of axes is not one")
    return model.turned(value, order)


def picked(model: Model, node: Node) -> list[Lanes] | Lanes:
    """Split, Slice and Gather of constant places along one axis each."""
    name = canonical(node)
    if node.domain == TFLITE:
        raise NotCoveredError("places of TensorFlow Lite's operators are not read")
    value = model.value(node.inputs[0])
    if isinstance(value, Fixed):
        raise NotCoveredError("it picks from a constant")
    rank = len(value.shape)
    if name == "Split":
        axis, start, parts = axis_of(node.int("axis"), rank), 0, []
        for output in node.outputs:
            size = model.shape(output)[axis]
            parts.append(taken(model, value, axis, range(start, start + size)))
            start += size
        return parts
    if name == "Gather":
        places = model.numbers(node, 1)
        if places.ndim != 1:
            raise NotCoveredError("it picks along several axes")
        axis = axis_of(node.int("axis"), rank)
        return taken(model, value, axis, [axis_of(int(n), value.shape[axis]) for n in places])
    starts, ends = model.numbers(node, 1).tolist(), model.numbers(node, 2).tolist()
    axes = model.numbers(node, 3).tolist() if node.has(3) else [*range(len(starts))]
    steps = model.numbers(node, 4).tolist() if node.has(4) else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        along = axis_of(axis, rank)
        value = taken(model, value, along, range(*slice(start, end, step).indices(value.shape[along])))
    return value


def taken(model: Model, value: Lanes, axis: int, places: Sequence[int]) -> Lanes:
    """Some elements along an axis."""
    if [*places] == [*range(value.shape[axis])]:
        return value
    value = model.spread(value) if axis in value.plane else value
    shape = (*value.shape[:axis], len(places), *value.shape[axis + 1 :])
    return value._replace(ids=value.ids.take([*places], axis), shape=shape)


def padded(model: Model, node: Node) -> Lanes:
    """Pad with real 0, which is the zero-point, or integers with an integer."""
    model.copies(node, 0)
    if node.text("mode", "constant") != "constant" or node.has(3) or (node.domain == TFLITE and node.has(2)):
        raise NotCoveredError("it pads with something else than zeros, or some axes")
    value, pads, table = model.lanes(node, 0), model.numbers(node, 1), model.table
    amounts = [(int(a), int(b)) for a, b in (pads if node.domain == TFLITE else pads.reshape(2, -1).T)]
    filled = model.operand(node, 2) if node.has(2) else Fixed(np.zeros(1))
    if not isinstance(filled, Fixed) or not value.integers or min(map(min, amounts)) < 0:
        raise NotCoveredError("it pads real numbers, or cuts")
    if value.scale and filled.real.any():
        raise NotCoveredError("it pads with another number than 0")
    fill = value.zero
    if not value.scale:
        fill = int(filled.array.item()) - OFFSETS.get(model.graph.elem_type(node.inputs[0]), 0)
    filler, rank = table.constant(fill), len(value.shape)
    if rank > 2:
        value = model.over(value, range(1, rank - 1) if node.domain == TFLITE else range(2, rank))
    around = [(0, 0) if axis in value.plane else amount for axis, amount in enumerate(amounts)]
    shape = tuple(size + sum(amount) for size, amount in zip(value.shape, amounts, strict=True))
    key = [tuple(part[axis] for axis in value.plane) for part in (value.shape, [a for a, _ in amounts], shape)]

    def function(number: int) -> int:
        low, high = min(table.low[number], fill), max(table.high[number], fill)
        return number if number == filler else table.number(("pad", number, *key, fill), low, high)

    ids = table.mapped(value.ids, function) if key[0] != key[2] else value.ids
    ids = np.pad(ids, around, constant_values=filler)
    return model.finished(node, value._replace(ids=ids, shape=shape))


Function = Callable[[Model, Node], "Value | list[Lanes]"]
FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(CURVES, curve),
    **dict.fromkeys(PAIRS, pair),
    **dict.fromkeys((*ACTIVATIONS, "Clip"), clamp),
    **dict.fromkeys(("Identity", *RESHAPES, "Flatten", "Squeeze", "Unsqueeze", "Transpose"), moved),
    **dict.fromkeys(("Split", "Slice", "Gather"), picked),
    **dict.fromkeys(("MaxPool", "AveragePool"), pooling),
    **dict.fromkeys(("GlobalAveragePool", "ReduceMean"), mean),
    **dict.fromkeys(("MatMul", "Gemm"), dense),
    "Conv": convolution,
    "Concat": joined,
    "Pad": padded,
    "QuantizeLinear": quantized,
    "QUANTIZE": quantized,
    "DequantizeLinear": dequantized,
    "DEQUANTIZE": dequantized,
}
"""What is done with an operator, by its one name."""


# The answer.


class Verification(NamedTuple):
    """What is known of two files: `faults` has an entry for each output, empty where it is equal for every input."""

    old: Model
    """The old file."""
    new: Model
    """The new file."""
    faults: tuple[str, ...]
    """Why an output of the new file is not known to be equal, in order."""

    @property
    def equal(self) -> bool:
        """Whether all outputs are equal for every input."""
        return not any(self.faults)


def verify(old: LoadedFile, new: LoadedFile, most: int = MOST_NUMBERS) -> Verification:
    """Hold two files, read by `formats.format`, against each other; `most` numbers bound time and memory."""
    table = Numbers(most)
    before, after = Model(old, table), Model(new, table)
    frame = frame_fault(before.graph, after.graph)
    ends = zip(before.graph.outputs, after.graph.outputs, strict=False)
    faults = [frame or fault(before, after, *names) for names in ends]
    return Verification(before, after, tuple(faults or [frame or "there is no output"]))


def frame_fault(old: Graph, new: Graph) -> str:
    """Why inputs or outputs of two files do not correspond; empty where they do."""
    for what, have, want in (("inputs", new.inputs, old.inputs), ("outputs", new.outputs, old.outputs)):
        if len(have) != len(want):
            return f"the new file has {len(have)} {what}, the old one {len(want)}"
        for name, other in zip(have, want, strict=True):
            if name != other:
                return f"'{name}' is called '{other}' in the old file"
            ends = [(g.elem_type(n), g.shape(n), g.quantization.get(n)) for g, n in ((new, name), (old, other))]
            if ends[0] != ends[1]:
                return f"'{name}' is {_end(*ends[0])}, in the old file {_end(*ends[1])}"
    return ""


def _end(elem_type: str, shape: tuple[int | None, ...] | None, stored: StoredQuantization | None) -> str:
    scale = f" in steps of {stored.scales} from {stored.zero_points}" if stored else ""
    return f"{elem_type or 'of unknown type'} {list(shape or ())}{scale}"


def fault(before: Model, after: Model, was: str, name: str) -> str:
    """Why an output is not known to be equal; empty where it is."""
    try:
        return "" if before.exact(was) == after.exact(name) else "it is not known to compute the same"
    except NotCoveredError as error:
        return str(error)
