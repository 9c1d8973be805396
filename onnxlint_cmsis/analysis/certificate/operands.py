"""Operands and results of a node as lanes, which axes a lane lies over, and functions of lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.certificate.rounding import DIVIDES_IN_FLOAT32, settle
from onnxlint_cmsis.analysis.certificate.table import Key, Numbers, digest
from onnxlint_cmsis.analysis.certificate.values import Lanes, Value
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import TFLITE, Graph, Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.integer_functions import ACTIVATIONS, SYMMETRIC
from onnxlint_cmsis.operators.integer_windows import Window
from onnxlint_cmsis.operators.integers import BITS, OFFSETS, NotCoveredError, few
from onnxlint_cmsis.operators.scaled_numbers import Fixed, Quantization, check_zeros, quantization, stored_numbers
from onnxlint_cmsis.operators.views import NodeView

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.certificate.table import Array, Ids
    from onnxlint_cmsis.formats.format import LoadedFile


class Operands(NodeView):
    """A graph, the table of numbers, and `values`: what its tensors compute, as far as it is known.

    A scale stands in nodes around an operand, in inputs of the node, or on the tensor.
    """

    def __init__(self, loaded: LoadedFile, table: Numbers, *, apart: int = 0) -> None:
        self.graph: Graph = loaded.graph
        self.apart = apart
        """Axis of an image [batch, channels, rows, columns] along which each line is a lane of its own, so that bands
        may be computed apart; 0 where a lane lies over the whole plane."""
        self.read = loaded.reader()
        self.table = table
        self.values: dict[str, Value] = {}
        self.missing: dict[str, str] = {}
        """Why nothing at all is known of a tensor."""
        self.rounded: dict[str, tuple[Lanes, Quantization]] = {}
        """Real numbers that a result is rounded from, and to what, by its name: nothing here rests on them."""

    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for."""
        return operator_of(node).roles

    def ints(self, node: Node, position: int) -> list[int]:
        """Whole numbers of a constant input."""
        return [int(number) for number in self.numbers(node, position).flat]

    def shape(self, name: str) -> tuple[int, ...]:
        """Sizes of a tensor; NotCoveredError where one is open."""
        shape = self.graph.shape(name)
        if shape is None or None in shape:
            raise NotCoveredError(f"the size of '{name}' is not known")
        return tuple(size or 0 for size in shape)

    def value(self, name: str) -> Value:
        """What a tensor holds."""
        if name in self.graph.constants and name not in self.values:
            array, given = self.read(name), name not in self.graph.producers
            if array is None:
                raise NotCoveredError(f"'{name}' cannot be read")
            if self.graph.constants[name].overridable and given:  # an input, with what it is where no caller gives it
                self.values[name] = self.named(("default", name, digest(array)), name)
            else:
                self._stays(name)
                self.values[name] = Fixed(array)
        if name not in self.values:
            raise NotCoveredError(self.missing.get(name, f"nothing makes '{name}'"))
        return self.values[name]

    def named(self, key: Key, name: str) -> Lanes:
        """A tensor of which only the name is known: each element is a number of its own."""
        shape, elem_type = self.shape(name), self.graph.elem_type(name)
        bits = BITS.get(elem_type, 0)
        top = (1 << bits - 1) if bits else math.inf
        told, places = self.table.name(*key, bits or elem_type), np.arange(self.table.look(shape))
        ids = self.table.numbers(told, places, 0, -top, top - 1 if bits else top)
        self.table.hold(ids)
        return Lanes(ids.reshape(shape), shape, integers=bool(bits), bits=bits or 8)

    def _stays(self, name: str) -> None:
        """Raise NotCoveredError for what is folded from a constant that a caller may replace."""
        sources = [name]
        for source in sources:  # it grows
            if self.graph.constants[source].overridable:
                raise NotCoveredError(f"a caller may replace '{source}'")
            producer = self.graph.producers.get(source)
            operands = producer.inputs if producer else ()
            sources += [operand for operand in operands if operand in self.graph.constants and operand not in sources]

    def operand(self, node: Node, position: int) -> Value:
        """An operand, with the scale that its integers have."""
        if not node.has(position):
            raise NotCoveredError(f"input {position} is left out")
        name = node.inputs[position]
        value = self.value(name)
        for triple in self.triples(node):
            if triple.value == position:
                scales = self.numbers(node, triple.scale), self.zeros(node, triple.zero_point)
                rank = len(self.shape(name))
                return self.scaled(name, *scales, self.roles(node).channel_axis(node, position, rank))
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
        if not ((scale > 0) & (scale < 2.0**100)).all():  # beyond, its real numbers may be infinite
            raise NotCoveredError("a scale is not above 0, or larger than 2**100")
        check_zeros(zero, self.graph.elem_type(name))
        if isinstance(value, Fixed):
            return value.scaled(scale, zero, axis)
        if scale.size != 1 or zero.size != 1 or not value.integers or value.scale:
            raise NotCoveredError("a computed tensor has several scales")
        return value._replace(scale=scale.item(), zero=int(zero.item()) - OFFSETS.get(self.graph.elem_type(name), 0))

    def lanes(self, node: Node, position: int, operand: Value | None = None) -> Lanes:
        """An operand as lanes, be it a constant or not."""
        value, stored = operand or self.operand(node, position), self.graph.quantization.get(node.inputs[position])
        if stored is not None and len(stored.scales) > 1:  # LiteRT's kernels read 0 then, the device's the first
            raise NotCoveredError("its operand has a scale for each channel, and kernels read one scale")
        return value if isinstance(value, Lanes) else self.of_constant(value)

    def of_constant(self, value: Fixed) -> Lanes:
        """A constant as lanes."""
        name = value.array.dtype.name
        self.table.look(value.array.shape)
        if value.scale is None or value.zero is None:
            figures = value.array.astype(np.float64)
            if value.array.dtype.kind != "f" or np.isnan(figures).any():
                raise NotCoveredError("integers without a scale, or no numbers")
            # by their bits: a number divided by 0 is another one than divided by -0
            ids = self.table.numbers(self.table.name("figure"), figures.reshape(-1).view(np.int64))
            return Lanes(ids.reshape(value.array.shape), value.array.shape)
        if name not in BITS or np.unique(value.scale).size > 1 or np.unique(value.zero).size > 1:
            raise NotCoveredError("a constant operand has several scales")
        offset = OFFSETS.get(name, 0)
        ids = self.table.constants(value.array.astype(np.int64) - offset)
        zero = int(value.zero.flat[0]) - offset
        return Lanes(ids, value.array.shape, (), True, float(value.scale.flat[0]), zero, BITS[name])

    def finished(self, node: Node, value: Lanes) -> Lanes:
        """A result behind the activation that the node ends in, in the integers that it is to be stored in."""
        fused = node.text("fused_activation_function", "NONE")
        if fused != "NONE":
            if fused not in ACTIVATIONS:
                raise NotCoveredError(f"it ends in {fused}")
            value = self.clipped(value, *ACTIVATIONS[fused])
        stated = self.result(node)
        return value if stated is None else self.settled(node, value, stated)

    def result(self, node: Node) -> Quantization | None:
        """The quantization of a node's result, where the node or its tensor has it."""
        elem_type = self.graph.elem_type(node.outputs[0])
        for triple in self.triples(node):
            if triple.value == -1 and triple.scale >= 0:
                return quantization(self.numbers(node, triple.scale), self.zeros(node, triple.zero_point), elem_type)
        stored = self.graph.quantization.get(node.outputs[0])
        return quantization(*stored_numbers(stored), elem_type) if stored and elem_type in BITS else None

    def copies(self, node: Node, *positions: int) -> None:
        """Raise NotCoveredError where TensorFlow Lite's kernel takes integers as they are, and the scales differ."""
        names = (*(node.inputs[position] for position in positions), *filter(None, node.outputs))
        if len({self.graph.quantization.get(name) for name in names}) > 1:
            raise NotCoveredError("it copies integers to another scale")

    def across(self, rank: int) -> list[int]:
        """Axes of an image [batch, channels, ...] that one lane lies over."""
        return [axis for axis in range(2, rank) if axis != self.apart or rank < 4]

    def by_line(self, window: Window) -> tuple[Array, Window]:
        """The line that each line of a window reads for each line of the result, and the window along one line.

        Where lanes lie over whole planes, the plane counts as one line.
        """
        if (axis := self.apart - 2) >= 0 and len(window.sizes) > 1:
            few((window.kernel[axis], window.result_sizes[axis]))
            return window.sources(axis), window.without(axis)
        return np.zeros((1, 1), np.int64), window

    def over(self, value: Lanes, axes: Sequence[int]) -> Lanes:
        """With lanes that lie over these axes, as far as these are longer than 1, and over no others."""
        plane = tuple(axis for axis in axes if value.shape[axis] > 1)
        if value.plane == plane:
            return value
        if value.plane:
            self.table.look(value.shape)
            count = math.prod(value.shape[axis] for axis in value.plane)
            unique, inverse = np.unique(value.ids, return_inverse=True)
            lanes = np.broadcast_to(inverse.reshape(value.ids.shape), value.shape)
            ids = self.table.at(unique, count)[lanes, _places(value)]
            return self.over(value._replace(ids=ids, plane=()), plane)
        kept = [axis for axis in range(len(value.shape)) if axis not in plane]
        rows = value.ids.transpose([*kept, *plane]).reshape(-1, math.prod(value.shape[axis] for axis in plane))
        ids = self.table.stacked(rows)
        sizes = [1 if axis in plane else size for axis, size in enumerate(value.shape)]
        return value._replace(ids=ids.reshape(sizes), plane=plane)

    def spread(self, value: Lanes) -> Lanes:
        """With a number for each element."""
        return self.over(value, ())

    def moved(self, value: Lanes, move: Callable[[Array], Array]) -> Lanes:
        """With elements at other places; lanes whose elements stay together, in their order, stay lanes."""
        self.table.look(value.shape)
        lanes, places = move(np.broadcast_to(value.ids, value.shape)), move(_places(value))
        plane = tuple(axis for axis in range(places.ndim) if (places != places.take([0], axis)).any())
        result = value._replace(shape=lanes.shape, plane=plane)
        kept = lanes[tuple(slice(0, 1 if axis in plane else None) for axis in range(lanes.ndim))]
        whole = math.prod(value.shape[axis] for axis in value.plane) == math.prod(lanes.shape[axis] for axis in plane)
        if whole and (lanes == kept).all() and (places == _places(result)).all():
            return result._replace(ids=kept)
        return result._replace(ids=move(self.over(value, ()).ids), plane=())

    def shaped(self, value: Lanes, shape: Sequence[int]) -> Lanes:
        """With the same elements in their order, and other sizes."""
        if math.prod(value.shape) != math.prod(shape):
            raise NotCoveredError(f"{list(value.shape)} does not become {list(shape)}")
        return value if value.shape == tuple(shape) else self.moved(value, lambda array: array.reshape(shape))

    def turned(self, value: Lanes, order: Sequence[int]) -> Lanes:
        """With its axes in another order."""
        return self.moved(value, lambda array: array.transpose(order))

    def real(self, value: Lanes) -> Lanes:
        """Real numbers, of which integers with a scale are some."""
        if not value.integers:
            return value
        if not value.scale:
            raise NotCoveredError("it computes with integers that have no scale")
        told = "float32" if value.single else "real", value.scale, value.zero
        return Lanes(self.applied(told, value.ids), value.shape, value.plane)

    def applied(self, key: Key, ids: Ids) -> Ids:
        """A function of one element."""
        return self.table.elementwise(lambda of: self.table.applied(self.table.name(*key), of), ids)

    def clipped(self, value: Lanes, low: float, high: float) -> Lanes:
        """Real numbers between two bounds."""
        if not low <= high:
            raise NotCoveredError(f"its bounds are {low} and {high}")
        value, signs = self.real(value), (math.copysign(1, low), math.copysign(1, high))  # -0.0 is another bound
        return value._replace(ids=self.applied(("clip", low, high, *signs), value.ids))

    def settled(self, node: Node, value: Lanes, stated: Quantization) -> Lanes:
        """Real numbers as the integers of a scale; those that have it stay."""
        if (value.scale, value.zero, value.bits) == stated:
            self.rounded[node.outputs[0]] = value, stated
            return value._replace(scale=0.0, zero=0, single=False)
        # float32 tells all integers of a scale apart
        value = self.real(value._replace(single=value.single and (value.scale, value.zero) != stated[:2]))
        self.rounded[node.outputs[0]] = value, stated
        single = node.domain == TFLITE and node.op_type in DIVIDES_IN_FLOAT32
        known, told = self.table.known, (digest(value.ids), stated, single)
        if told not in known:
            known[told] = self.table.elementwise(lambda of: settle(self.table, of, stated, single=single), value.ids)
        return Lanes(known[told], value.shape, value.plane, True, 0.0, 0, stated.bits)

    def paired(self, left: Lanes, right: Lanes, key: Key) -> Lanes:
        """A function of two real operands, element by element."""
        left, right = self.real(left), self.real(right)
        shape = np.broadcast_shapes(left.shape, right.shape)
        left, right = (self.shaped(p, (1,) * (len(shape) - len(p.shape)) + p.shape) for p in (left, right))
        plane = sorted({*left.plane, *right.plane})
        parts = [self.over(part, [axis for axis in plane if part.shape[axis] > 1]) for part in (left, right)]
        if any([axis for axis in plane if part.shape[axis] > 1] not in ([], plane) for part in parts):
            parts, plane = [self.spread(part) for part in parts], []
        self.table.look(np.broadcast_shapes(*(part.ids.shape for part in parts)))
        first, second = np.broadcast_arrays(*(part.ids for part in parts))
        return Lanes(self.table.elementwise(lambda a, b: self._pairs(key, a, b), first, second), shape, tuple(plane))

    def _pairs(self, key: Key, first: Ids, second: Ids) -> Ids:
        exact = all(self.table.are(side, "real", "scaled").all() for side in (first, second))  # without -0.0 and NaN
        if key[0] in SYMMETRIC and (exact or key[0] in ("Add", "Mul")):
            first, second = np.minimum(first, second), np.maximum(first, second)
        ids = self.table.applied(self.table.name(*key), first, second)
        self.table.unsettled[ids] |= self.table.unsettled[second]
        return ids


def _places(value: Lanes) -> Array:
    """Place of each element in its lane."""
    sizes = [size if axis in value.plane else 1 for axis, size in enumerate(value.shape)]
    return np.broadcast_to(np.arange(math.prod(sizes)).reshape(sizes), value.shape)
