"""The known values of every tensor so far: constants, and values derived from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.weighted import Weighted, sums
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.element_ranges import EXACT_INT, as_stored, is_whole, range_of, settled
from onnxlint_cmsis.model.interval_axes import lay, ranked
from onnxlint_cmsis.model.intervals import exactly, unknown
from onnxlint_cmsis.operators.joined_values import joined
from onnxlint_cmsis.operators.views import LayerSum, ValueView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.model.intervals import Floats, Interval, Mask
    from onnxlint_cmsis.model.roles import Roles


MAX_KNOWN = 2**23
"""Values of all activations that are followed together; a value that a whole tensor shares is not counted."""


class KnownView(ValueView):
    """Graph, constants and known intervals."""

    def __init__(
        self,
        graph: Graph,
        read: Callable[[str], NDArray[Any] | None],
        disproved: Collection[tuple[str, int, int]] = (),
    ) -> None:
        self.graph = graph
        self.weighted: dict[int, Weighted] = {}
        """Nodes that sum over constant weights, by `Node.index`."""
        self._read = read
        self._known: dict[str, Interval] = {}
        self._postponed: dict[str, Callable[[], None]] = {}
        self._derived: set[str] = set()
        self._learned = 0
        self.ended = False
        """Whether nothing is known of some tensors only because MAX_KNOWN values of others are."""
        self._disproved: dict[str, list[tuple[int, int]]] = {}
        for name, axis, index in disproved:
            self._disproved.setdefault(name, []).append((axis, index))

    def is_constant(self, name: str) -> bool:
        """Tell whether a tensor is computed from constants alone."""
        return name in self.graph.constants or name in self._derived

    def known(self, name: str) -> Interval | None:
        """Known values of a tensor; None where its rank is unknown."""
        if name in self._postponed:
            self._postponed.pop(name)()
        if name not in self._known and name in self.graph.constants:
            self._known[name] = self._constant(name)
        if name in self._known:
            return self._known[name]
        shape = self.shape(name)
        return None if shape is None else _anything(self.elem_type(name), len(shape))

    def input(self, node: Node, position: int) -> Interval | None:
        """Known values of a node's input; None where it is omitted or its rank is unknown."""
        return self.known(node.inputs[position]) if node.has(position) else None

    def part(self, node: Node, position: int) -> Interval | None:
        """Known values of a part of a concatenation."""
        return self.input(node, position)

    def join(self, parts: Sequence[Interval | None], where: tuple[int, list[int]] | None, /) -> Interval | None:
        """Parts spread out along the axis."""
        return joined(parts, where)

    def roles(self, node: Node) -> Roles:
        """Roles of a node's inputs, from its record."""
        return operator_of(node).roles

    def layer_sum(self, node: Node) -> LayerSum | None:
        """Sum of a layer with known weights, row by row."""
        weighted, shape = self.weighted.get(node.index), self.shape(node.outputs[0])
        data = None if weighted is None else self.input(node, weighted.data)
        if weighted is None or data is None or shape is None or len(shape) <= weighted.output_axis:
            return None
        total = sums(weighted, weighted.columns(data))
        if total is None and weighted.real and "activation" not in node.attributes:
            return None  # a number that may be any stays so with a bias; in steps of a scale it has a range
        total = unknown(len(shape)) if total is None else lay(total, weighted.output_axis, len(shape))
        return LayerSum(total, weighted.output_axis, weighted.weights)

    def vector(self, node: Node, position: int, default: float) -> Floats:
        """Exact values of an input of rank 0 or 1 as a vector, NaN where they are not known."""
        if not node.has(position):
            return np.array([default])
        known = self.input(node, position)
        if known is None or known.low.ndim > 1 or known.low is not known.high:
            return np.array([np.nan])
        return known.low.reshape(-1)

    def zero_points(self, node: Node, position: int) -> Floats:
        """Zero-points of an input: one, or one for each index of its channels; NaN where they are not known."""
        stored = self.graph.quantization.get(node.inputs[position]) if node.has(position) else None
        if stored is not None:
            return np.array(stored.zero_points or (0,), np.float64)
        return self.vector(node, self.roles(node).zero_points.get(position, -1), 0.0)

    def learn(self, node: Node, position: int, values: Interval | None) -> None:
        """Keep the values of an output, as far as its shape and type allow."""
        name = node.outputs[position]
        shape, elem_type = self.shape(name), self.elem_type(name)
        if shape is not None and values is not None and covers(values.low, shape):
            if name not in self._derived and not self.takes(values.low.size):
                return
            stored = settled(as_stored(values, elem_type), elem_type)._replace(fault=None)
            self._known[name] = self._without_disproved(name, stored, shape)

    def takes(self, values: int) -> bool:
        """Tell whether that many more values of activations may be followed; a value for a whole tensor always may."""
        if values <= 1:
            return True
        self._learned += values
        self.ended = self.ended or self._learned > MAX_KNOWN
        return not self.ended

    def postpone(self, name: str, learn: Callable[[], None]) -> None:
        """Compute the values of a tensor on first use."""
        self._postponed[name] = learn

    def stored(self, name: str) -> NDArray[Any] | None:
        """Numbers of a constant as the file has them; None where a caller may replace it or they cannot be read."""
        constant = self.graph.constants.get(name)
        array = None if constant is None or constant.overridable else self._read(name)
        if constant is None or array is None or array.shape != constant.shape or array.dtype.kind not in "fiub":
            return None
        return array

    def is_disproved(self, name: str) -> bool:
        """Tell whether some element was seen to hold another value than the analysis said."""
        return name in self._disproved

    def derive(self, node: Node) -> None:
        """Note that a node computes with constants alone, where it does."""
        given = [name for name in node.inputs if name]
        if given and all(map(self.is_constant, given)):
            self._derived.update(filter(None, node.outputs))

    def _constant(self, name: str) -> Interval:
        constant = self.graph.constants[name]
        array = self.stored(name)
        if array is None:
            return _anything(constant.elem_type, len(constant.shape))
        values = array.astype(np.float64)
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            values[np.abs(values) >= EXACT_INT] = np.nan
        return exactly(values)

    def _without_disproved(self, name: str, known: Interval, shape: tuple[Size, ...]) -> Interval:
        for axis, index in self._disproved.get(name, ()):
            indices = np.arange(shape[axis] or 1).reshape([-1 if other == axis else 1 for other in range(len(shape))])
            spread = np.broadcast_shapes(known.low.shape, indices.shape)
            known = known.moved(partial(np.broadcast_to, shape=spread)).forgotten(
                np.broadcast_to(indices == index, spread)
            )
        return known


def _anything(elem_type: str, rank: int) -> Interval:
    """Any number of an integer type; unknown for a real type, which may hold NaN or infinity."""
    return ranked(range_of(elem_type), rank) if is_whole(elem_type) else unknown(rank)


def covers(array: Floats | Mask, shape: Sequence[Size]) -> bool:
    """Tell whether every axis of an array is as long as the tensor's, or of length 1."""
    return array.ndim == len(shape) and all(have in (1, size) for have, size in zip(array.shape, shape, strict=True))
