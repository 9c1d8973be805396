"""Whether two model files compute the same for every input, in the integer arithmetic of the device.

The meaning is TensorFlow Lite's specification of quantized operators: a layer sums whole numbers, and one fixed-point
multiplication takes the sum to the result's scale. Both files are read into one table of numbers. A lane (a channel
over its plane, or one element) gets the number of what it computes, written in a form that does not depend on how the
file says it. Lanes with one number are equal on every input, so nothing has to be known about how a file was changed:

* a sum is a set of (lane, tap, weight), without weights of 0; a tap is told by the places of the plane that it reads;
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.lane_numbers import MOST_NUMBERS, Key, Numbers, digest, digest_of
from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.formats.onnx.half_layers import half_layers, in_halves
from onnxlint_cmsis.formats.onnx.same_versions import since
from onnxlint_cmsis.formats.onnx.signatures import result_types
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import TFLITE, Attribute, Graph, Node
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.integer_functions import (
    ACTIVATIONS,
    CURVES,
    PAIRS,
    SYMMETRIC,
    axis_of,
    function_steps,
    only_multiplies,
    regrouped,
)
from onnxlint_cmsis.operators.integer_windows import Taps, Window, taps_of, window_of
from onnxlint_cmsis.operators.integers import (
    BITS,
    OFFSETS,
    NotCoveredError,
    Steps,
    few,
    multipliers,
    quantized_multiplier,
    requantized,
    sum_steps,
)
from onnxlint_cmsis.operators.moves import moved_input, passage
from onnxlint_cmsis.operators.record import MICROSOFT
from onnxlint_cmsis.operators.scaled_numbers import (
    Fixed,
    Quantization,
    check_sums,
    check_zeros,
    in_steps,
    quantization,
    stored_numbers,
)
from onnxlint_cmsis.operators.tflite_misreads import misread
from onnxlint_cmsis.operators.views import NodeView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.formats.format import LoadedFile
    from onnxlint_cmsis.model.leftovers import Left

    Ids = NDArray[np.int64]
    Array = NDArray[Any]

DAMAGED = (NotCoveredError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""Errors that end in "not covered": sizes of a damaged file fit nothing, and what is not covered is not equal."""


# Tensors: what stands in the file, and lanes of numbers.


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
    single: bool = False
    """Whether a runtime holds them as float32, in which it computes on."""


Value = Fixed | Lanes


class Read(dict[str, "Attribute"]):
    """Attributes of a node that remember which of them were read."""

    def __init__(self, attributes: Mapping[str, Attribute]) -> None:
        super().__init__(attributes)
        self.asked = {*TOLD_BEFORE}

    def __getitem__(self, name: str) -> Attribute:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """One of them."""
        self.asked.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        """All of them."""
        self.asked.update(self)
        return super().items()

    def unread(self) -> list[str]:
        """Those that say something and were not read."""
        return [name for name in self if name not in self.asked and dict.__getitem__(self, name) not in DEFAULTS]


class Model(NodeView):
    """One file, read into the table; `values` holds what its tensors compute."""

    def __init__(
        self, loaded: LoadedFile, table: Numbers, *, mixed: bool = False, plain: bool = False, by_rows: bool = False
    ) -> None:
        self.graph: Graph = loaded.graph
        self.mixed = mixed
        """Whether the other file is of another format, whose runtimes take NaN and infinity otherwise."""
        self.plain = plain
        """Whether layers are the same only where all that they say is, so that they are the same in every runtime."""
        self.by_rows = by_rows
        """Whether each row of a plane is a lane of its own, so that rows may be computed apart."""
        self.read = loaded.reader()
        self.table = table
        self.values: dict[str, Value] = {}
        self.opaque: dict[int, str] = {}
        """Why nothing but "equal operands, equal result" is known of a node, by its index."""
        self.missing: dict[str, str] = {}
        """Why nothing at all is known of a tensor."""
        self.left = loaded.leftovers()
        self.sizes = loaded.computed_sizes()
        self.halves = digest_of([*half_layers(self.graph)])
        """What stands for all layers between 16-bit floats, whose results hang on one another."""
        self.rounded: dict[str, tuple[Lanes, Quantization]] = {}
        """Real numbers that a result is rounded from, and to what, by its name: nothing here rests on them."""
        for position, name in enumerate(self.graph.inputs):
            try:
                if mixed and self.elem_type(name) not in BITS:
                    raise NotCoveredError(f"runtimes of two formats take NaN and infinity of '{name}' otherwise")
                self.values[name] = self._named(("input", position), name)
            except DAMAGED as error:
                self.missing[name] = str(error)
        for node in self.graph.nodes:
            self._run(node)

    # From nodes to values.

    def _named(self, key: Key, name: str) -> Lanes:
        """A tensor of which only the name is known: each element, or each row, is a number of its own."""
        shape, elem_type = self.shape(name), self.graph.elem_type(name)
        bits = BITS.get(elem_type, 0)
        top = (1 << bits - 1) if bits else math.inf
        last = bool(self.graph.nodes) and self.graph.nodes[0].domain == TFLITE
        plane = (len(shape) - 1 - last,) if self.by_rows and len(shape) > 3 and shape[-1 - last] > 1 else ()
        lanes = tuple(1 if axis in plane else size for axis, size in enumerate(shape))
        told, places = self.table.name(*key, bits or elem_type), np.arange(self.table.look(lanes))
        ids = self.table.numbers(told, places, 0, -top, top - 1 if bits else top)
        self.table.hold(ids)
        return Lanes(ids.reshape(lanes), shape, plane, integers=bool(bits), bits=bits or 8)

    def _run(self, node: Node) -> None:
        """Values of a node's outputs: what its operator makes, else numbers that stand for an unknown function."""
        outputs = [name for name in node.outputs if name]
        if all(name in self.graph.constants for name in outputs):
            return None
        for name in self.graph.variables.intersection(outputs):  # written before, or by an earlier run
            self.values.pop(name, None)
        if wrong := self._result_fault(node):
            return self._lost(node, wrong)
        try:
            self.values.update(self._made(node, outputs))
        except DAMAGED as error:
            self.opaque[node.index] = str(error)
            self.rounded.pop(node.outputs[0], None)
            try:
                key = self._said(node)
                self.values.update({n: self._named(("result", key, at), n) for at, n in enumerate(node.outputs) if n})
            except DAMAGED as nothing:
                self._lost(node, str(nothing))

    def _lost(self, node: Node, why: str) -> None:
        """Keep why nothing is known of a node's outputs: what was lost before it, or why it is."""
        told = [*(self.missing[n] for n in node.inputs if n in self.missing), f"{node.label} ({node.op_type}): {why}"]
        self.missing.update(dict.fromkeys(filter(None, node.outputs), told[0]))

    def _result_fault(self, node: Node) -> str:
        """Why a node's outputs are not of the type that its operator makes, or in TensorFlow Lite not of the size.

        TensorFlow Lite takes the file's types, and Micro the file's sizes: it leaves elements, or writes past the last.
        Kernels there read operands of other types and sizes as theirs.
        """
        if node.domain == TFLITE:
            return misread(node, self.graph, self.roles(node), self.read, self.sizes)
        given = [self.elem_type(name) if name else None for name in node.inputs]
        operator = node.domain, node.op_type
        types = result_types(operator, node.opset, node.attributes, given, len(node.outputs))
        for name, true in zip(node.outputs, types, strict=True):
            stated = self.elem_type(name)
            if name and (not true or true != stated):
                told = f"its operator makes {true}" if true else "nobody knows what its operator makes"
                return f"its result is {stated or 'of unknown type'}, and {told}"
        return ""

    def _made(self, node: Node, outputs: Sequence[str]) -> dict[str, Value]:
        """What the outputs of a described operator hold."""
        self._nothing_left(node)
        operator, read = operator_of(node), Read(node.attributes)
        if self.graph.variables & {*node.inputs, *node.outputs}:
            raise NotCoveredError("it keeps values from one run to the next")
        function = self._function(node)
        if function is None or self._inside(node) or node.domain not in DOMAINS or "" in node.outputs:
            raise NotCoveredError(f"{node.op_type} is not described, or leaves an output out")
        if in_halves(node, self.graph):
            raise NotCoveredError("runtimes may hold its 16-bit floats as float32 between layers")
        if self.plain and function not in (moved, FUNCTIONS["Identity"]):
            raise NotCoveredError("runtimes may compute it otherwise")
        computed = {self.graph.elem_type(n) for n in (*node.inputs, *outputs) if n and n not in self.graph.constants}
        computed |= {self.graph.elem_type(node.inputs[position]) for position in operator.roles.data_of(node)}
        if node.domain == TFLITE and len(computed) > 1 and function not in (quantized, dequantized):
            raise NotCoveredError(f"its kernel takes one type, and it has {', '.join(sorted(computed))}")
        if self.mixed and node.domain == TFLITE and function not in (*KEEPING, dequantized) and "float32" in computed:
            raise NotCoveredError("it computes in float32, which runtimes of two formats may do otherwise")
        if function not in KEEPING and not {self.elem_type(name) for name in outputs} <= DESCRIBED:
            raise NotCoveredError("it computes with other numbers than float32 and integers of up to 16 bits")
        if function not in KEEPING and OTHER_REALS & {self.elem_type(name) for name in node.inputs if name}:
            raise NotCoveredError("its real numbers are not float32, and round otherwise")
        results = function(self, replace(node, attributes=read))
        if operator.elements is not Elements.RENAMED and (unread := read.unread()):  # else it says sizes alone
            raise NotCoveredError(f"it has {', '.join(unread)}, of which nothing is known")
        values = dict(zip(outputs, results if isinstance(results, list) else [results], strict=True))
        for name, value in values.items():
            shape = value.shape if isinstance(value, Lanes) else value.array.shape
            self.table.hold(value.ids if isinstance(value, Lanes) else value.array)
            whole, real = self.graph.elem_type(name) in BITS, isinstance(value, Lanes) and (value.scale or not value[3])
            if (whole and real) or name in self.values or shape != self.shape(name):
                raise NotCoveredError(f"the file says {list(self.shape(name))} of its result, or no scale")
        return values

    def _function(self, node: Node) -> Function | None:
        operator = operator_of(node)
        return moved if operator.movement and not self.triples(node) else FUNCTIONS.get(operator.canonical)

    def keeps(self, node: Node) -> bool:
        """Tell whether a node only takes, joins or pads what is there, and computes no number."""
        return self._function(node) in KEEPING

    def _left(self, node: Node) -> list[Left]:
        """What the file says of a node and its tensors, and the graph does not."""
        told = [
            self.left.nodes.get(node.index, ()),
            *(self.left.tensors.get(n, ()) for n in (*node.inputs, *node.outputs)),
        ]
        return [item for items in told for item in items]

    def _nothing_left(self, node: Node) -> None:
        """Raise NotCoveredError for a node with more to it than attributes and operands of known sizes and scales."""
        if left := self._left(node):
            raise NotCoveredError(f"it has {', '.join(item.what for item in left)}, of which nothing is known")
        bias = self.roles(node).bias
        for position, name in enumerate((*node.inputs, *node.outputs)):
            computed = name in self.graph.producers and name not in self.graph.constants
            if computed and self.sizes.get(name) != self.graph.shape(name):
                raise NotCoveredError(f"the size of '{name}' is what the file states, and not known to be computed")
            scaled = name in self.graph.quantization and self.graph.elem_type(name) not in BITS
            if scaled and not (name in self.graph.constants and position == bias):
                raise NotCoveredError(f"'{name}' ({self.graph.elem_type(name)}) has a scale")

    def _inside(self, node: Node) -> bool:
        """Whether a node has subgraphs or stands in one; a local function of ONNX that was laid flat is none."""
        return bool(node.bodies) or (bool(node.graph) and not self.graph.has_functions)

    def _said(self, node: Node) -> bytes:
        """All that a node and its operands say; NotCoveredError for what may not be a function of its operands."""
        record = operator_of(node)
        if not record.canonical or self._inside(node) or node.domain not in DOMAINS:
            raise NotCoveredError("nobody knows what it computes")
        hidden = record.canonical in (*HIDDEN, *(GATED if node.domain == TFLITE else ()))
        dropped = node.op_type == "Dropout" and (node.has(2) or node.opset < BROADCASTING)
        if record.elements in (Elements.RANDOM, Elements.BODIES) or hidden or dropped:
            raise NotCoveredError("what it computes does not stand in its operands")
        if self.graph.variables & {*node.inputs, *node.outputs} or node.index in self.graph.once:
            raise NotCoveredError("it keeps values from one run to the next")
        left = self._left(node)
        if unread := [item.what for item in left if item.content is None]:
            raise NotCoveredError(f"nobody can read its {', '.join(unread)}")
        names = [*node.inputs, *(node.outputs if node.domain == TFLITE else ())]
        stored = [self.graph.quantization.get(name) for name in names]
        shapes = [(self.shape(name), self.graph.elem_type(name)) for name in node.outputs if name]
        operands = [self.exact(name) for name in node.inputs]
        version = 0 if node.domain == TFLITE else since(node.domain, node.op_type, node.opset)
        halves = self.halves if in_halves(node, self.graph) else b""
        told = (node.domain, node.op_type, version, sorted(node.attributes.items()), stored, shapes, operands, left)
        return digest_of((*told, halves))

    def exact(self, name: str, *, signed: bool = False) -> bytes:
        """What stands for an operand where nothing is known of its reader: a sum of floats is not reordered.

        With `signed`, unsigned integers are the signed ones that the device holds.
        """
        if not name:
            return bytes(32)
        value, elem_type = self.value(name), self.graph.elem_type(name)
        if isinstance(value, Fixed):
            parts = [b"" if part is None else digest(np.asarray(part)) for part in value[:3]]
        elif not value.integers and self.table.unsettled[value.ids].any():
            producer = self.graph.producers[name]
            parts = [self._said(producer), bytes([producer.outputs.index(name)])]
        else:
            parts = [digest(self.over(value, ()).ids), *(str(part).encode() for part in value[3:-1])]
            elem_type = "" if signed and value.integers else elem_type
        return digest_of((parts, elem_type))

    # Operands and results, by the three ways to say a scale: nodes around, inputs of the node, or on the tensor.

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

    def lanes(self, node: Node, position: int) -> Lanes:
        """An operand as lanes, be it a constant or not."""
        value, stored = self.operand(node, position), self.graph.quantization.get(node.inputs[position])
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

    # Which axes one lane lies over.

    def across(self, rank: int) -> range:
        """Axes of an image [batch, channels, ...] that one lane lies over."""
        return range(3 if self.by_rows and rank > 3 else 2, rank)

    def by_row(self, window: Window) -> tuple[Array, Window]:
        """The row that each row of a window reads for each row of the result, and the window along one row.

        Where lanes lie over whole planes, the plane counts as one row.
        """
        if self.by_rows and len(window.sizes) > 1:
            few((window.kernel[0], window.result_sizes[0]))
            return window.sources(0), window.along_row()
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
        return self.moved(value, lambda array: array.reshape(shape))

    def turned(self, value: Lanes, order: Sequence[int]) -> Lanes:
        """With its axes in another order."""
        return self.moved(value, lambda array: array.transpose(order))

    # Results: functions of lanes, sums over lanes, and what their integers are.

    def real(self, value: Lanes) -> Lanes:
        """Real numbers, of which integers with a scale are some."""
        if not value.integers:
            return value
        if not value.scale:
            raise NotCoveredError("it computes with integers that have no scale")
        told = "float32" if value.single else "real", value.scale, value.zero
        ids = self.table.applied(self.table.name(*told), value.ids)
        return Lanes(ids, value.shape, value.plane)

    def clipped(self, value: Lanes, low: float, high: float) -> Lanes:
        """Real numbers between two bounds."""
        if not low <= high:
            raise NotCoveredError(f"its bounds are {low} and {high}")
        value, signs = self.real(value), (math.copysign(1, low), math.copysign(1, high))  # -0.0 is another bound
        return value._replace(ids=self.table.applied(self.table.name("clip", low, high, *signs), value.ids))

    def settled(self, node: Node, value: Lanes, stated: Quantization) -> Lanes:
        """Real numbers as the integers of a scale."""
        # float32 tells all integers of a scale apart
        value = self.real(value._replace(single=value.single and (value.scale, value.zero) != stated[:2]))
        self.rounded[node.outputs[0]] = value, stated
        single = node.domain == TFLITE and node.op_type in DIVIDES_IN_FLOAT32
        known, told = self.table.known, (digest(value.ids), stated, single)
        ids = known[told] = known[told] if told in known else settle(self.table, value.ids, stated, single=single)
        return Lanes(ids, value.shape, value.plane, True, 0.0, 0, stated.bits)

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
        exact = all(self.table.are(side, "real", "scaled").all() for side in (first, second))  # without -0.0 and NaN
        if key[0] in SYMMETRIC and (exact or key[0] in ("Add", "Mul")):
            first, second = np.minimum(first, second), np.maximum(first, second)
        ids = self.table.applied(self.table.name(*key), first, second)
        self.table.unsettled[ids] |= self.table.unsettled[second]
        return Lanes(ids, shape, tuple(plane))

    def summed(self, x: Lanes, weights: Fixed, bias: Fixed | None, groups: int, window: Window) -> Lanes:
        """The sum of a layer with weights, before requantization.

        `x` is [batch, channels, ...] of integers with a scale, `weights` [out_c, channels / groups, ...].
        """
        table = self.table
        if not x.integers or not x.scale or x.single or weights.scale is None or weights.zero is None:
            raise NotCoveredError("it sums real numbers, of which the order matters")
        axes = self.across(len(x.shape))
        rows, window = self.by_row(window)
        x, window = self._unpadded(self.over(x, axes), window)
        count, inner = weights.array.shape[:2]
        if x.shape[1] != inner * groups or count % groups:
            raise NotCoveredError(f"its weights are {list(weights.array.shape)}, its input {list(x.shape)}")
        factors = weights.array.astype(np.int64) - np.asarray(weights.zero, np.int64)
        factors = factors.reshape(count, inner * len(rows), -1)  # a row of the window reads a lane of its own
        scales = np.broadcast_to(weights.scale, weights.array.shape).reshape(count, -1)
        if (scales != scales[:, :1]).any():
            raise NotCoveredError("the weights of a lane have several scales")
        steps = [x.scale * scale for scale in scales[:, 0].tolist()]
        others = steps
        if weights.single:
            others = [float(np.float32(x.scale) * np.float32(scale)) for scale in scales[:, 0].tolist()]
        biases = in_steps(bias, steps, count)
        # TensorFlow Lite Micro sums and rounds 16 bits by the type of the bias, as with int64 where there is none
        short = bias is not None and x.bits > 8 and bool(self.graph.quantization) and bias.array.dtype == np.int32
        check_sums(factors, biases, x.bits, short=short)
        held = (x.zero, x.bits, short)
        known, told = table.known, (digest(x.ids), held, digest(factors), repr(biases), groups, rows.tobytes(), window)
        if told not in known:
            taps, parts = taps_of(window), self._read_rows(x, rows).reshape(-1, groups, inner * len(rows))
            known[told] = np.array([self._sums(held, part, factors, biases, taps) for part in parts], np.int64)
        sums = known[told]
        ids = table.numbers(table.name("scaled"), sums, np.array([*map(table.name, steps, others)]))
        table.unsettled[ids] = True
        lanes = (x.shape[0], count, rows.shape[1])[: len(x.shape) - len(axes)]
        shape = (*lanes, *window.result_sizes)
        ids = ids.reshape(x.shape[0], rows.shape[1], count).swapaxes(1, 2).reshape(*lanes, *(1 for _ in axes))
        return Lanes(ids, shape, tuple(axis for axis in axes if shape[axis] > 1))

    def _read_rows(self, x: Lanes, rows: Array) -> Ids:
        """Lanes that a layer reads for each row of its result: [batch, rows, channels, rows of the window].

        Padding adds nothing to a sum, as a row does that holds the zero-point everywhere.
        """
        padding = np.full((*x.ids.shape[:2], 1), self.table.constants(np.array(x.zero)))
        lanes = np.concatenate([x.ids.reshape(*x.ids.shape[:2], -1), padding], axis=2)  # a place of -1 is the last
        self.table.look((*lanes.shape[:2], *rows.shape))
        return np.asarray(lanes[:, :, rows].transpose(0, 3, 1, 2), np.int64)

    def _unpadded(self, x: Lanes, window: Window) -> tuple[Lanes, Window]:
        """The lanes behind a Pad with the zero-point, whose amounts go into the window."""
        table, behind = self.table, self.table.are(x.ids, "pad")
        pads = {table.told[name][1:] for name in np.unique(table.rows[x.ids[behind], 0]).tolist()}
        held = x.ids[~behind]
        sizes, before, outer, value = pads.pop() if len(pads) == 1 else ((),) * 4
        known = table.are(held, "constant").all() and (table.rows[held, 1] == x.zero).all()
        if not known or value != x.zero or outer != window.sizes:  # a Reshape puts the lane into another plane
            return x, window
        ids = np.where(behind, table.rows[x.ids, 1], x.ids)
        shape = (*x.shape[: len(x.shape) - len(sizes)], *sizes)
        plane = tuple(axis for axis in self.across(len(shape)) if shape[axis] > 1)
        return x._replace(ids=ids, shape=shape, plane=plane), window._replace(ahead=before, sizes=sizes)

    def _sums(self, held: Key, lanes: Ids, factors: Array, biases: Sequence[float], taps: Taps) -> Ids:
        """Numbers of sums over lanes [groups, channels]: factors [out_c, channels, places of the window].

        `held` has the zero-point and the bits of the input, and whether the bias makes it another sum.
        """
        table, (groups, inner), (zero, *width) = self.table, lanes.shape, held
        order = np.argsort(lanes, axis=1, kind="stable")
        lanes = np.take_along_axis(lanes, order, axis=1)
        factors = factors.reshape(groups, -1, inner, factors.shape[2])
        active = np.take_along_axis(factors, order[:, None, :, None], axis=2)
        active[..., ~taps.meets] = 0
        fixed = table.are(lanes, "constant")
        low, high = (side[lanes].astype(np.int64) - zero for side in (table.low, table.high))
        # constant lanes: what they add everywhere goes into the bias, what the border lacks of it stays apart
        constant = np.einsum("gcit,gi->gct", active, low * fixed)
        base, edges = taps.border(constant)
        # all others: terms of lane, tap and weight, and bounds of what they add; a lane may be there more than once
        active.swapaxes(1, 2)[fixed] = 0
        for group, lane in np.argwhere((lanes[:, 1:] == lanes[:, :-1]) & ~fixed[:, 1:])[::-1].tolist():
            active[group, :, lane] += active[group, :, lane + 1]
            active[group, :, lane + 1] = 0
        names = table.numbers(np.array([table.name("tap", *name) for name in (*taps.names, ())]), 0)
        order = np.argsort(names[:-1], kind="stable")
        group, row, lane, tap = np.nonzero(active[..., order])
        rows, taken = group * active.shape[1] + row, names[order[tap]]
        ends = np.cumsum(np.bincount(rows, minlength=len(biases))).tolist()
        moving = np.bincount(rows[taken != names[-1]], minlength=len(biases)).tolist()
        terms = np.stack([lanes[group, lane], active[group, row, lane, order[tap]]], axis=1).tobytes()
        keys = []
        for at, start, end in zip(range(len(biases)), [0, *ends], ends, strict=False):
            used = digest(taken[start:end]) if moving[at] else b""
            told = hashlib.sha256(terms[16 * start : 16 * end]).digest()
            more = zero if end > start else 0, *width, used, told, digest(edges[at]) if at in edges else b""
            keys.append(table.name("sum", biases[at] + base[at], *more))
        least, most = taps.ends(constant, active, low, high)
        return table.numbers(np.array(keys), 0, 0, np.floor(biases) + least, np.ceil(biases) + most)


def _places(value: Lanes) -> Array:
    """Place of each element in its lane."""
    sizes = [size if axis in value.plane else 1 for axis, size in enumerate(value.shape)]
    return np.broadcast_to(np.arange(math.prod(sizes)).reshape(sizes), value.shape)


def settle(table: Numbers, ids: Ids, stated: Quantization, *, single: bool = False) -> Ids:
    """The integers that lanes of real numbers become in a scale; `single`: some kernels divide scales in float32."""
    unique, inverse = np.unique(ids, return_inverse=True)
    clips = table.are(unique, "clip")
    inner = np.where(clips, table.rows[unique, 1], unique)
    clips &= ~table.are(inner, "clip")
    source, clip = np.where(clips, inner, unique), np.where(clips, table.rows[unique, 0], -1)
    limits = {name: [*map(stated.step, table.told[name][1:3])] for name in np.unique(clip[clips]).tolist()}
    limits[-1] = [stated.least, -stated.least - 1]
    name, first, second = table.rows[source].T
    columns = [clip, name, second * table.are(source, "scaled"), table.unsettled[source]]
    for operand in (first * table.are(source, *UNARY, *BINARY), second * table.are(source, *BINARY)):
        columns += [table.rows[operand, 0], table.low[operand], table.high[operand]]
    told = np.stack([column for column in columns if (column != column[:1]).any()] or columns[:1])
    _, alike, code = np.unique(told, axis=1, return_index=True, return_inverse=True)
    ways = [settled(table, int(source[at]), stated, limits[int(clip[at])], single) for at in alike.tolist()]
    name, second, low, high = np.array(ways, np.int64).reshape(-1, 4)[code.reshape(-1)].T
    inner = np.where(table.are(source, "real", "scaled"), first, source)
    new, of = name >= 0, np.where(name == table.name_of.get(("constant",)), low, inner)
    inner[new] = table.numbers(name[new], of[new], second[new], low[new], high[new])
    return inner[inverse].reshape(ids.shape)


def settled(
    table: Numbers, number: int, stated: Quantization, ends: Sequence[int], single: bool
) -> tuple[int, int, int, int]:
    """What a lane becomes between two bounds: its row without its operand, and its ends; -1 for what it is made of."""
    key, more, (least, most) = table.key(number), Key(), ends
    if key[0] == "real":
        _, inner, scale, zero, _ = key
        low, high = int(table.low[inner]), int(table.high[inner])
        if (scale, zero) == (stated.scale, stated.zero):
            if least <= low and high <= most:
                return -1, 0, 0, 0
            new: Key = ("clamp", least, most)
            steps: Steps | None = ((low - zero,), (high - zero,))
        else:
            factor = scale / stated.scale
            other = float(np.float32(scale) / np.float32(stated.scale)) if single else factor
            new = ("rescale", zero, *quantized_multiplier(factor), *quantized_multiplier(other), stated, least, most)
            ways = multipliers(factor)
            steps = [[s for way in ways for s in requantized(end - zero, *way, 8)] for end in (low, high)]
    elif key[0] == "scaled":
        _, inner, *products = key
        factor, other = (scale / stated.scale for scale in products)
        more = (*quantized_multiplier(factor), stated.zero, stated.bits, least, most, *quantized_multiplier(other))
        new = ("requantize",)
        steps = sum_steps(int(table.low[inner]), int(table.high[inner]), factor, table.key(inner)[3])
    elif table.unsettled[number]:
        raise NotCoveredError("it reads a sum that is never taken to integers")
    else:
        new, steps = ("quantize", stated, least, most), bounds(table, key, stated)
    low, high = (least, most) if steps is None else stated.held(steps, least, most)
    if steps is not None and low == high:
        return table.name("constant"), 0, low, high
    return table.name(*new), table.name(*more) if more else 0, low, high


BINARY = ("Add", "Sub", "Mul")
"""Functions of two operands whose least and greatest integers are known from those of their operands."""
UNARY = ("real", "scaled", "average", "curve")
"""The same of one operand."""


def bounds(table: Numbers, key: Key, stated: Quantization) -> Steps | None:
    """Least and greatest steps of a function of integers that is described; None where they are not known."""
    inner = [table.key(number) for number in (key[1], key[-1])[: (key[0] in UNARY) + 2 * (key[0] in BINARY)]]
    if not inner or any(operand[0] != "real" for operand in inner) or (key[0] == "average" and any(key[-2])):
        return None  # an average of padding too has another least and greatest element
    ends = [(int(table.low[of]), int(table.high[of])) for _, of, *_ in inner]
    given = [Quantization(scale, zero, 8) for _, _, scale, zero, _ in inner]
    name, alpha = key[2:4] if key[0] == "curve" else (key[0], None)
    return function_steps(name, alpha, ends, given, stated)


# Operators: each function gives what a node makes of what its operands hold.


TOLD_BEFORE = ("num_splits", "num", "values_count", "output_padding", "output_dtype", "depth_multiplier")
"""Attributes that tell nothing but sizes and types of results, which are worked out or held against them before."""
DEFAULTS = (0, "", (), "NONE", "DEFAULT", "FLOAT32")
"""Values of attributes that say nothing: numbers, lists and names of TensorFlow Lite's options that are left out."""
OTHER_REALS = frozenset({"float16", "bfloat16", "float64"})
"""Real numbers in which nothing is described but where elements go."""
DESCRIBED = frozenset({"float32", *BITS})
"""Types of results that are described; of others nothing is but where elements go."""
BROADCASTING = 7
"""Operator set of ONNX from which Add, PRelu and their like broadcast as NumPy does, and Dropout drops nothing."""
HIDDEN = ("Constant", "ConstantOfShape", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
"""Operators whose nodes hold more than the graph tells, such as tensors."""
GATED = ("LSTM", "SVDF", "BIDIRECTIONAL_SEQUENCE_LSTM")
"""Operators of TensorFlow Lite with scales between their gates, which the graph does not tell."""
DIVIDES_IN_FLOAT32 = ("RELU",)
"""Kernels that take integers to another scale by a factor in float32 in LiteRT and some revisions of TensorFlow Lite
Micro; QUANTIZE divides in float64. Where both make one multiplier, the kernels compute the same.

tensorflow/lite/micro/kernels/activations_common.cc and quantize_common.cc. Other clamps of the device keep the scale.
"""
FLOAT32 = 1
"""Number of the type float32 in ONNX."""
DOMAINS = ("", MICROSOFT, TFLITE)
"""Domains whose operators are described here, or by names and attributes alone."""


def dequantized(model: Model, node: Node) -> Value:
    """DequantizeLinear, DEQUANTIZE: the same integers, with their scale; TensorFlow Lite computes on in float32."""
    if node.domain == TFLITE:
        value = model.operand(node, 0)
        return value._replace(single=True) if isinstance(value, Lanes) else value.in_float32
    if node.int("block_size"):
        raise NotCoveredError("it has scales for blocks")
    return model.scaled(node.inputs[0], model.numbers(node, 1), model.zeros(node, 2), node.int("axis", 1))


def quantized(model: Model, node: Node) -> Value:
    """QuantizeLinear, QUANTIZE."""
    if node.domain == TFLITE:
        return model.finished(node, model.lanes(node, 0))
    if node.int("precision") not in (0, FLOAT32):
        raise NotCoveredError("it divides in another precision")
    value, scale, zero = model.operand(node, 0), model.numbers(node, 1), model.zeros(node, 2)
    axis = node.int("axis", 1)
    elem_type = model.graph.elem_type(node.outputs[0])
    if isinstance(value, Lanes):
        return model.settled(node, value, quantization(scale, zero, elem_type))
    if node.int("block_size") or value.scale is not None or value.array.dtype != np.float32 or elem_type not in BITS:
        raise NotCoveredError("it quantizes a constant that is computed")
    return value.quantized(scale, zero, axis, elem_type)


def first(model: Model, value: Lanes, node: Node) -> tuple[Lanes, tuple[int, ...], list[int]]:
    """An image with its channels behind the batch, the sizes of the plane of the result, and the way back."""
    if node.int("channels_last"):
        raise NotCoveredError("its channels are last")
    rank, shape = len(value.shape), model.shape(node.outputs[0])
    order = [0, rank - 1, *range(1, rank - 1)] if model.roles(node).channels_last else [*range(rank)]
    return model.turned(value, order), tuple(shape[axis] for axis in order[2:]), [order.index(n) for n in range(rank)]


def weighted(model: Model, node: Node) -> tuple[Lanes, Fixed, Fixed | None]:
    """Data, weights [out_c, channels of a group, ...] and bias of a layer that sums."""
    roles = model.roles(node)
    if roles.form is None or roles.sums is Sums.SCALED or node.has(roles.summand) or node.text("activation"):
        raise NotCoveredError("it does more than add a bias to its sums")
    value, weights = (model.operand(node, position) for position in (roles.data[0], roles.weights[0]))
    bias = model.operand(node, roles.bias) if roles.bias >= 0 and node.has(roles.bias) else None
    if not isinstance(value, Lanes) or not isinstance(weights, Fixed) or isinstance(bias, Lanes):
        raise NotCoveredError("its weights or its bias are computed")
    stored = model.graph.quantization.get(node.inputs[roles.weights[0]])
    subtracted = node.op_type == "FULLY_CONNECTED" and stored is not None and len(stored.scales) == 1
    unread = node.domain == TFLITE and weights.array.dtype != np.uint8 and not subtracted
    if unread and value.integers and np.any(weights.zero):
        raise NotCoveredError("its weights have a zero-point, which kernels do not read")
    summed_in = node.text("quantized_bias_type", "FLOAT32")
    if value.bits > 8 and summed_in not in ("FLOAT32", bias and bias.array.dtype.name.upper()):
        raise NotCoveredError("its sums have the type of quantized_bias_type, and its bias another one")
    rank = weights.array.ndim
    if rank < 2:
        raise NotCoveredError(f"its weights are {list(weights.array.shape)}")
    ends = roles.form.outputs(rank), roles.form.inputs(rank)
    if roles.form is Form.GEMM and node.int("transB"):
        ends = ends[::-1]
    order = [*ends, *(axis for axis in range(rank) if axis not in ends)]
    return value, weights.moved(lambda array: array.transpose(order)), bias


def convolution(model: Model, node: Node) -> Lanes:
    """Convolutions of all formats, depthwise, in groups and transposed."""
    value, weights, bias = weighted(model, node)
    x, result_sizes, back = first(model, value, node)
    form, groups = model.roles(node).form, node.int("group", 1)
    transposed = form is not None and form.transposed
    if node.domain == TFLITE:
        groups = x.shape[1] // max(weights.array.shape[1], 1)
    if node.ints("kernel_shape", weights.array.shape[2:]) != weights.array.shape[2:]:
        raise NotCoveredError("its kernel_shape is not that of its weights")
    if transposed:  # the weights have all input channels, and the outputs of one group
        if groups < 1 or weights.array.shape[1] % groups or node.ints("output_shape"):
            raise NotCoveredError("its groups or its padding are not written out")
        weights = weights.moved(lambda array: regrouped(array, groups))
    window = window_of(node, weights.array.shape[2:], x.shape[2:], result_sizes, transposed=transposed)
    return model.finished(node, model.turned(model.summed(x, weights, bias, groups, window), back))


def dense(model: Model, node: Node) -> Lanes:
    """Matrix products with constant weights: a convolution without a plane."""
    value, weights, bias = weighted(model, node)
    gemm = model.roles(node).form is Form.GEMM
    if weights.array.ndim != 2 or not only_multiplies(node, gemm=gemm, biased=bias is not None):
        raise NotCoveredError("it does more than multiply by a matrix")
    columns = weights.array.shape[1] if node.domain == TFLITE else value.shape[-1]
    if bias is not None and bias.array.shape[:-1] in ((), (1,)) and node.domain != TFLITE:
        bias = bias.moved(lambda array: np.broadcast_to(array.reshape(-1), (weights.array.shape[0],)))
    flat = model.spread(model.shaped(value, (math.prod(value.shape) // columns, columns)))
    stored = model.graph.quantization.get(node.inputs[model.roles(node).weights[0]])
    single = node.domain == TFLITE and stored is not None and len(stored.scales) == 1
    result = model.summed(flat, weights._replace(single=single), bias, 1, Window((), (), (), (), (), ()))
    kept = node.domain != TFLITE or node.int("keep_num_dims")
    return model.finished(node, model.shaped(result, (*value.shape[:-1], result.shape[1])) if kept else result)


def pair(model: Model, node: Node) -> Value:
    """Functions of two elements; what is added to a sum goes into its bias."""
    positions = [*operator_of(node).roles.data_of(node)]
    if len(positions) != 2 or (not node.domain and node.opset < BROADCASTING):
        raise NotCoveredError("it has other than two operands, or broadcasts along an axis that it names")
    key, values = (canonical(node), *said(node)), [model.operand(node, position) for position in positions]
    for value, other in zip(values, values[::-1], strict=True):
        if canonical(node) == "Add" and isinstance(value, Lanes) and isinstance(other, Fixed) and not value.integers:
            return model.finished(node, biased(model, value, other))
    left, right = (model.lanes(node, position) for position in positions)
    return model.finished(node, model.paired(left, right, key))


def said(node: Node) -> tuple[Any, ...]:
    """Attributes that a function is told by; nothing for those that have none."""
    kept = {k: v for k, v in node.attributes.items() if k != "fused_activation_function"}
    return (repr(sorted(kept.items())),) if kept else ()


def biased(model: Model, value: Lanes, bias: Fixed) -> Lanes:
    """Sums with a constant added."""
    table = model.table
    shape, ids = np.broadcast_shapes(value.ids.shape, bias.array.shape), value.ids.reshape(-1)
    if shape != value.ids.shape or not table.are(ids, "scaled").all():
        return model.paired(value, model.of_constant(bias), ("Add",))
    spread = bias.moved(lambda array: np.broadcast_to(array, shape).reshape(-1))
    _, inner, steps = table.rows[ids].T
    more = in_steps(spread, [table.told[step][0] for step in steps.tolist()], len(ids))
    low, high = table.low[inner], table.high[inner]
    if (np.maximum(abs(low), abs(high)) + np.abs(np.array(more, np.float64)) >= 2**31).any():
        raise NotCoveredError("a sum may need more than 32 bits")
    keys = [table.key(number) for number in inner.tolist()]
    names = [table.name("sum", key[1] + added, *key[2:]) for key, added in zip(keys, more, strict=True)]
    totals = table.numbers(np.array(names), 0, 0, low + np.floor(more), high + np.ceil(more))
    numbers = table.numbers(table.name("scaled"), totals, steps)
    table.unsettled[numbers] = True
    return value._replace(ids=numbers.reshape(shape))


LARGEST = float(np.finfo(np.float32).max)
"""Bound of a Clip that states none: it takes infinity to it."""


def clamp(model: Model, node: Node) -> Lanes:
    """Relu, Relu6, Clip."""
    if node.domain == TFLITE and node.op_type not in DIVIDES_IN_FLOAT32:
        model.copies(node, 0)
    bounds = ACTIVATIONS.get(canonical(node))
    if bounds is None:
        ends = [-LARGEST, LARGEST]
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
    value = model.real(model.lanes(node, 0))
    key = ("curve", canonical(node), node.attributes.get("alpha", None if node.domain == TFLITE else 0.01), *said(node))
    return model.finished(node, value._replace(ids=model.table.applied(model.table.name(*key), value.ids)))


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
    same = node.text("auto_pad")[:4] == "SAME"
    around = (node.int("ceil_mode"), *node.ints("pads"), same) if node.int("count_include_pad") else ()
    key = ("largest" if canonical(node) == "MaxPool" else "average", window, node.int("ceil_mode"), around)
    return model.finished(node, model.turned(pooled(model, x, key, result_sizes), back))


def pooled(model: Model, x: Lanes, key: Key, result_sizes: tuple[int, ...]) -> Lanes:
    """A function of each lane's plane that keeps what is the same everywhere."""
    table = model.table
    if key[0] == "average" and (not x.integers or x.single):
        raise NotCoveredError("it averages real numbers, of which the order matters")
    by_row = model.by_rows and len(x.shape) > 3 and isinstance(key[1], Window) and not key[3]
    axes = model.across(len(x.shape)) if by_row else range(2, len(x.shape))
    x = model.over(model.real(x) if key[0] == "average" else x, axes)
    shape = (*x.shape[:2], *result_sizes)
    if by_row:
        rows, window = model.by_row(key[1])
        ids = row_pooled(table, x.ids.reshape(x.shape[:3]), rows, (key[0], window, key[2]))
        ids = ids.reshape(*shape[:3], *(1 for _ in axes))
    else:
        ids, others = x.ids.copy(), ~table.are(x.ids, "constant")
        ids[others] = table.applied(table.name(*key), ids[others])
    return x._replace(ids=ids, shape=shape, plane=tuple(axis for axis in axes if shape[axis] > 1))


def row_pooled(table: Numbers, lanes: Ids, rows: Array, key: Key) -> Ids:
    """The same of the rows inside the plane that each row of a window reads: [batch, channels, rows]."""
    ids = np.empty((*lanes.shape[:2], rows.shape[1]), np.int64)
    table.look((ids.size, len(rows)))
    for batch, channel, row in np.ndindex(ids.shape):
        inside = lanes[batch, channel, rows[rows[:, row] >= 0, row]]
        if (inside == inside[0]).all() and table.are(inside[:1], "constant"):
            ids[batch, channel, row] = inside[0]
            continue
        ends = table.low[inside].min(), table.high[inside].max()
        number = ids[batch, channel, row] = table.numbers(table.name("rows", *key, inside.tobytes()), 0, 0, *ends)
        table.unsettled[number] = table.unsettled[inside].any()
    return ids


def mean(model: Model, node: Node) -> Lanes:
    """The average of whole planes: GlobalAveragePool, ReduceMean and MEAN over all axes but batch and channels."""
    x = model.lanes(node, 0)
    rank, axes = len(x.shape), [*range(2, len(x.shape))]
    if canonical(node) == "ReduceMean":
        given = node.ints("axes") or tuple(int(n) for n in model.numbers(node, 1).flat)
        axes = sorted(axis_of(axis, rank) for axis in given)
    order = [axis for axis in range(rank) if axis not in axes] + axes
    if len(axes) != rank - 2 or not axes or node.int("channels_last"):
        raise NotCoveredError("it takes other axes together than those of a plane")
    turned = model.turned(x, order)
    result = pooled(model, turned, ("average", "whole", turned.shape[2:], ()), (1,) * (rank - 2))
    kept = canonical(node) != "ReduceMean" or model.roles(node).number(node, "keepdims", 1)
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape) if kept or axis not in axes]
    return model.shaped(model.finished(node, result), sizes)


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
    model.table.look((sum(part.ids.size for part in parts),))
    ids = np.concatenate([part.ids for part in parts], axis=axis)
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return model.finished(node, parts[0]._replace(ids=ids, shape=tuple(shape), plane=tuple(plane)))


def moved(model: Model, node: Node) -> list[Value]:
    """Operators that only give elements other places."""
    operator, position = operator_of(node), moved_input(node, model)
    model.copies(node, position)
    value, shapes = model.value(node.inputs[position]), [model.shape(name) for name in node.outputs]
    if node.int("batch_dims"):
        raise NotCoveredError("it picks in batches")
    if operator.roles.sizes:  # a Reshape is told its result
        told = model.ints(node, operator.roles.sizes[0]) if node.has(1) else [*node.ints("new_shape")]
        told = [-1 if size == 0 and node.domain != TFLITE else size for size in told]
        if len(told) != len(shapes[0]) or any(t not in (-1, size) for t, size in zip(told, shapes[0], strict=True)):
            raise NotCoveredError(f"it is to become {told}, and its result is {list(shapes[0])}")
    results, count = list[Value](), 0
    for number, shape in enumerate(shapes):
        way = passage(node, model, number)
        move = operator.movement(way) if way is not None and operator.movement else None
        if move is None:
            raise NotCoveredError("where it takes elements from is not known")
        count += model.table.look(shape)
        results.append(value.moved(move.forward) if isinstance(value, Fixed) else model.moved(value, move.forward))
    if operator.canonical == "Split":
        given = value.shape if isinstance(value, Lanes) else value.array.shape
        (axis,), stated = model.stated(node, "axis", (0,)) or (0,), model.stated(node, "split", ())
        if count != math.prod(given) or (stated and [*stated] != [shape[axis] for shape in shapes]):
            raise NotCoveredError("its parts are not the whole")
    return results


def padded(model: Model, node: Node) -> Lanes:
    """Pad with real 0, which is the zero-point, or integers with an integer."""
    model.copies(node, 0)
    mirrored = node.op_type == "MIRROR_PAD" or node.text("mode", "constant") != "constant"
    if mirrored or node.has(3) or (node.domain == TFLITE and node.has(2)):
        raise NotCoveredError("it pads with something else than zeros, or some axes")
    value, pads, table = model.lanes(node, 0), model.numbers(node, 1), model.table
    amounts = [(int(a), int(b)) for a, b in (pads if node.domain == TFLITE else pads.reshape(2, -1).T)]
    filled = model.operand(node, 2) if node.has(2) else Fixed(np.zeros(1))
    if not isinstance(filled, Fixed) or not value.integers or min(map(min, amounts)) < 0:
        raise NotCoveredError("it pads real numbers, or cuts")
    offset = OFFSETS.get(model.graph.elem_type(node.inputs[0]), 0)
    fill = value.zero if value.scale else int(filled.array.item()) - offset
    if (value.scale and filled.real.any()) or abs(fill) >= 2**53:  # bounds are kept as float64
        raise NotCoveredError("it pads with another number than 0")
    filler, rank = int(table.constants(np.array(fill))), len(value.shape)
    axes: Sequence[int] = value.plane
    if rank > 2:
        axes = [axis - (node.domain == TFLITE) for axis in model.across(rank)]
        value = model.over(value, axes)
    around = [(0, 0) if axis in axes else amount for axis, amount in enumerate(amounts)]
    shape = tuple(size + sum(amount) for size, amount in zip(value.shape, amounts, strict=True))
    key = [tuple(part[axis] for axis in axes) for part in (value.shape, [a for a, _ in amounts], shape)]

    ids = value.ids.copy()
    lanes = ids[others := ids != filler]
    if key[0] != key[2]:
        ends = np.minimum(table.low[lanes], fill), np.maximum(table.high[lanes], fill)
        pads = np.array([pad_around(table, lane, key, fill) for lane in lanes.tolist()], np.int64).reshape(-1, 2)
        ids[others] = table.numbers(pads[:, 0], pads[:, 1], 0, *ends)
    table.look([size + sum(amount) for size, amount in zip(ids.shape, around, strict=True)])
    plane = tuple(axis for axis in axes if shape[axis] > 1)
    ids = np.pad(ids, around, constant_values=filler)
    return model.finished(node, value._replace(ids=ids, shape=shape, plane=plane))


def pad_around(table: Numbers, lane: int, key: Sequence[tuple[int, ...]], fill: int) -> tuple[int, int]:
    """The name of a lane with places of one number around it, and the lane inside: pads around pads are one pad."""
    (sizes, before, outer), (kind, *told) = key, table.told[table.rows[lane, 0]]
    if kind == "pad" and told[2:] == [sizes, fill]:
        sizes, lane = told[0], int(table.rows[lane, 1])
        before = tuple(map(sum, zip(told[1], before, strict=True)))
    return table.name("pad", sizes, before, outer, fill), lane


Function = Callable[[Model, Node], "Value | list[Value]"]
FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(CURVES, curve),
    **dict.fromkeys(PAIRS, pair),
    **dict.fromkeys((*ACTIVATIONS, "Clip"), clamp),
    **dict.fromkeys(("MaxPool", "AveragePool"), pooling),
    **dict.fromkeys(("GlobalAveragePool", "ReduceMean"), mean),
    **dict.fromkeys(("MatMul", "Gemm"), dense),
    **dict.fromkeys(("Conv", "ConvTranspose"), convolution),
    "Identity": lambda model, node: model.value(node.inputs[0]),
    "Concat": joined,
    "Pad": padded,
    **dict.fromkeys(("QuantizeLinear", "QUANTIZE"), quantized),
    **dict.fromkeys(("DequantizeLinear", "DEQUANTIZE"), dequantized),
}
"""What is done with an operator, by its one name."""
KEEPING: tuple[Function, ...] = (moved, joined, padded, FUNCTIONS["Identity"])
"""Functions that compute no number."""


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

    @property
    def rounds(self) -> bool:
        """Whether a file takes real numbers to integers, as the device does and other runtimes may not."""
        return bool(self.old.rounded or self.new.rounded)


def verify(old: LoadedFile, new: LoadedFile, most: int = MOST_NUMBERS, *, plain: bool = False) -> Verification:
    """Hold two files, read by `formats.format`, against each other; `most` numbers bound time and memory.

    `plain`: outputs are equal in every runtime, since layers say the same or move elements.
    """
    known = _held(old, new, most, plain=plain, by_rows=False)
    if known.equal or not any(map(joins_rows, (old.graph, new.graph))):
        return known
    return _held(old, new, most, plain=plain, by_rows=True)


def joins_rows(graph: Graph) -> bool:
    """Tell whether images are joined along the first axis of their plane, whose rows were then computed apart."""
    return any(
        canonical(node) == "Concat" and len(shape := graph.shape(node.outputs[0]) or ()) > 3
        and node.int("axis") in ((1, 1 - len(shape)) if node.domain == TFLITE else (2, 2 - len(shape)))
        for node in graph.nodes
    )  # fmt: skip


def _held(old: LoadedFile, new: LoadedFile, most: int, *, plain: bool, by_rows: bool) -> Verification:
    table, sides = Numbers(most), (old, new)
    mixed = len({any(node.domain == TFLITE for node in side.graph.nodes) for side in sides}) > 1
    before, after = (Model(side, table, mixed=mixed, plain=plain, by_rows=by_rows) for side in sides)
    if (told := old.digest()) is not None and told == new.digest():
        return Verification(before, after, ("",) * max(len(after.graph.outputs), 1))
    frame = frame_fault(before.graph, after.graph) or left_fault(before, after)
    ends = zip(before.graph.outputs, after.graph.outputs, strict=False)
    faults = [frame or fault(before, after, *names) for names in ends]
    return Verification(before, after, tuple(faults or [frame or "there is no output"]))


def frame_fault(old: Graph, new: Graph) -> str:
    """Why inputs or outputs of two files do not correspond; empty where they do, be integers signed or not."""
    for what, have, want in (("inputs", new.inputs, old.inputs), ("outputs", new.outputs, old.outputs)):
        if len(have) != len(want):
            return f"the new file has {len(have)} {what}, the old one {len(want)}"
        for name, other in zip(have, want, strict=True):
            if name != other:
                return f"'{name}' is called '{other}' in the old file"
            if _end(new, name) != _end(old, other):
                return f"'{name}' is {_end(new, name)}, in the old file {_end(old, other)}"
    if old.signatures != new.signatures or not all(signature.main for signature in new.signatures):
        return "the signatures differ, or one of them enters another subgraph, which is not read"
    return ""


def left_fault(before: Model, after: Model) -> str:
    """What two files, their inputs or outputs say beside their graphs, and differ in; empty where they do not."""
    ends = {*after.graph.inputs, *after.graph.outputs}
    sides = [[side.left.file, *(side.left.tensors.get(name, ()) for name in sorted(ends))] for side in (before, after)]
    for have, want in zip(*sides[::-1], strict=True):
        told = [item.what for item in (*have, *want) if item.content is None or item not in have or item not in want]
        if told or have != want:
            return f"the files differ in what nobody reads, or it cannot be read: {', '.join(dict.fromkeys(told))}"
    return ""


def _end(graph: Graph, name: str) -> str:
    """An input or output as the device holds it."""
    elem_type, stored = graph.elem_type(name), graph.quantization.get(name)
    offset, shape = OFFSETS.get(elem_type, 0), [*(graph.shape(name) or ("an open shape",))]
    scale = f" in steps of {stored.scales} from {[zero - offset for zero in stored.zero_points]}" if stored else ""
    return f"{elem_type.removeprefix('u') if offset else elem_type or 'of unknown type'} {shape}{scale}"


def fault(before: Model, after: Model, was: str, name: str) -> str:
    """Why an output is not known to be equal; empty where it is."""
    try:
        if before.exact(was, signed=True) != after.exact(name, signed=True):
            return "it is not known to compute the same"
    except DAMAGED as error:
        return str(error)
    graphs = before.graph, after.graph
    types = {end: [graph.elem_type(end) for graph in graphs] for end in (*graphs[1].inputs, name)}
    other = [f"'{end}' ({have} for {had})" for end, (had, have) in types.items() if had != have]
    return f"it is equal for every input but for the offset of {', '.join(other)}" if other else ""
