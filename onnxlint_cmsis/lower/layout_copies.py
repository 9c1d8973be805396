"""Copies between memory orders: where a layer wants its input in another order than the layer in front left it in.

No node stands for such a copy. The application that calls CMSIS-NN's functions makes it, as the firmware check does:
images are NHWC, rows of a Reshape or a MatMul are in ONNX's order. Inputs of the model lie as they need the fewest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import prod

from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.memory_order import (
    Places,
    Stored,
    channels_last,
    lies_in,
    moved_places,
    reshaped,
    row_major,
    transposed,
)
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.softmax import softmax_axes
from onnxlint_cmsis.lower.stored_types import MOVES
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Elements

IMAGES = (
    *(Function.CONVOLVE, Function.DEPTHWISE, Function.TRANSPOSE_CONV, Function.AVERAGE_POOL, Function.MAX_POOL),
    Function.BATCH_NORM,
)
"""Functions that read and write NHWC."""


KEEPS = ("lookup", "requantize", Function.ACTIVATION)
"""Code that goes over memory, whatever its order."""


ANY_ORDER = (Function.SOFTMAX, Function.PAD, Function.TRANSPOSE, "move")
"""What takes every order of axes and writes the same; a softmax wants the axes of its rows last."""


SEVERAL = (Function.ADD, Function.MUL, Function.MAXIMUM, Function.MINIMUM, Function.CONCATENATION)
"""Functions of several activations, which lie in one order."""


MAY_GO = "a converter such as onnx2tf may remove the copy"


CHANNELS_LAST = "CMSIS-NN wants channels last here"


ONNX_ORDER = "ONNX counts elements in another order here"


class LayoutCopy(NamedTuple):
    """One copy in front of a layer."""

    node: Node
    """Layer, or Reshape or Transpose, that wants the other order."""
    tensor: str
    """What is copied."""
    shape: tuple[int, ...]
    """Its sizes in ONNX's order."""
    places: Places
    """Loops of the copy."""
    reason: str
    """Why, as a clause."""

    @property
    def label(self) -> str:
        """Name of the copy, which no node has."""
        return f"{self.node.label}:transpose"

    @property
    def elements(self) -> int:
        """Elements copied."""
        return prod(self.shape)


class MemoryLayout(NamedTuple):
    """Where the tensors of a model lie, for the memory order of its inputs that needs the fewest copies."""

    copies: tuple[LayoutCopy, ...]
    """The copies, in file order."""
    stored: Mapping[str, Stored]
    """Each activation that a layer reads or writes."""


def memory_layout(graph: Graph, lowered: Lowered) -> MemoryLayout:
    """The copies of a model, and where its activations lie."""
    fixed = derived_values(graph, sizes=True) | graph.constants.keys()
    first = _Walk(graph, lowered, fixed, inputs_channels_last=False).layout()
    if not first.copies:
        return first
    last = _Walk(graph, lowered, fixed, inputs_channels_last=True).layout()
    return first if len(first.copies) < len(last.copies) else last


class _Walk:
    """A walk over the nodes in file order."""

    def __init__(self, graph: Graph, lowered: Lowered, fixed: AbstractSet[str], *, inputs_channels_last: bool) -> None:
        """`fixed` are the tensors that are the same in every run."""
        self._graph = graph
        self._records = lowered.by_index
        self._fixed = fixed
        self._inputs_channels_last = inputs_channels_last
        self._stored: dict[str, Stored] = {}
        self._copies: list[LayoutCopy] = []

    def layout(self) -> MemoryLayout:
        for node in self._graph.nodes:
            if not node.inputs or self._shape(node.outputs[0]) is None:
                continue
            result = self._result(node, self._records.get(node.index))
            if result is not None:
                self._stored[node.outputs[0]] = result
        return MemoryLayout(tuple(self._copies), self._stored)

    def _result(self, node: Node, record: LoweredLayer | None) -> Stored | None:
        """Where the first output of a node lies; None where the host or another program writes it."""
        shape = self._shape(node.outputs[0])
        values = [value for value in map(self._value, node.inputs) if value is not None]
        if shape is None or not values:
            return None
        if record is None:
            return self._seen(node, values[0], shape)
        if record.verdict not in (Outcome.CMSIS_NN, Outcome.REFERENCE):
            return None
        return self._computed(node, record, values, shape)

    def _seen(self, node: Node, value: Stored, shape: tuple[int, ...]) -> Stored | None:
        """What an operator that is no layer makes of a value: another view, or the same memory."""
        elements = operator_of(node).elements
        if elements is Elements.TRANSPOSED:
            order = node.permutation(len(value.shape))
            return transposed(self._plain(node, value), order) if order else None
        if value.shape == shape:
            return value
        if elements in MOVES and prod(shape) == prod(value.shape):
            return reshaped(value, shape)
        if elements is Elements.PADDED:  # the layer behind it pads
            return Stored(shape, self._plain(node, value).order)
        return None

    def _computed(self, node: Node, record: LoweredLayer, values: list[Stored], shape: tuple[int, ...]) -> Stored:
        """What a layer makes of its inputs, copied where it wants another order."""
        first, own = values[0], tuple(range(len(shape)))
        function = record.code or (record.layer.call.function if record.layer else "")
        if function in SEVERAL:
            return self._together(node, values, shape)
        if function in IMAGES:
            self._ordered(node, first, channels_last(len(first.shape)))
            return Stored(shape, channels_last(len(shape)))
        if function in KEEPS and first.shape == shape:
            return first
        if function in (*KEEPS, *ANY_ORDER):
            first = self._plain(node, first)
            if function == Function.SOFTMAX and len(first.shape) == len(shape):
                axes = softmax_axes(node, len(shape))
                first = self._ordered(node, first, (*(axis for axis in first.order if axis not in axes), *axes))
            return Stored(shape, first.order if len(first.order) == len(shape) else own)
        if function != Function.FULLY_CONNECTED or not _rows_in_memory(first):
            for value in values:
                self._ordered(node, value, tuple(range(len(value.shape))))
        return Stored(shape, own)

    def _together(self, node: Node, values: Iterable[Stored], shape: tuple[int, ...]) -> Stored:
        """Operands in the order of the first that has the result's rank; those of other shapes are made larger."""
        plain = [self._plain(node, value) for value in values]
        joined = len(plain[0].shape) == len(shape) and operator_of(node).elements is Elements.JOINED
        leading = (value for value in plain if value.shape == shape)
        order = plain[0].order if joined else next((value.order for value in leading), tuple(range(len(shape))))
        for value in plain:
            if value.shape == shape or (joined and len(value.shape) == len(order)):
                self._ordered(node, value, order)
        return Stored(shape, order)

    def _value(self, tensor: str) -> Stored | None:
        """Where an activation lies; None for a constant and where a size is unknown."""
        if tensor in self._stored:
            return self._stored[tensor]
        shape = None if not tensor or tensor in self._fixed else self._shape(tensor)
        if shape is None:
            return None
        rank = len(shape)
        self._stored[tensor] = Stored(shape, channels_last(rank) if self._inputs_channels_last else tuple(range(rank)))
        return self._stored[tensor]

    def _shape(self, tensor: str) -> tuple[int, ...] | None:
        shape = self._graph.shape(tensor)
        sizes = tuple(size for size in shape or () if size is not None)
        return None if shape is None or len(sizes) < len(shape) else sizes

    def _plain(self, node: Node, value: Stored) -> Stored:
        """The value with a memory order that its shape describes."""
        whole = value.folded_from is None
        return value if whole else self._ordered(node, value, tuple(range(len(value.shape))))

    def _ordered(self, node: Node, value: Stored, order: tuple[int, ...]) -> Stored:
        """The value in this memory order; copied where it lies otherwise."""
        if lies_in(value, order):
            return Stored(value.shape, order)
        if value.folded_from is not None:
            source = value.folded_from
            plain = self._moved(node, source, tuple(range(len(source.shape))))
            return self._ordered(node, reshaped(plain, value.shape), order)
        return self._moved(node, value, order)

    def _moved(self, node: Node, value: Stored, order: tuple[int, ...]) -> Stored:
        reason = CHANNELS_LAST if row_major(value) else ONNX_ORDER
        self._copies.append(LayoutCopy(node, node.inputs[0], value.shape, moved_places(value, order), reason))
        return Stored(value.shape, order)


def _rows_in_memory(value: Stored) -> bool:
    """Tell whether rows lie one after the other, so that the order of the columns of weights makes up for theirs."""
    source = value.folded_from or value
    rows = prod(value.shape[:-1])
    for count in range(len(source.order) + 1):
        leading = source.order[:count]
        if prod(source.shape[axis] for axis in leading) == rows:
            return list(leading) == sorted(leading) and set(leading) == set(range(count))
    return False
