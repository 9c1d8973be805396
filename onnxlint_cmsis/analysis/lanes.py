"""Lanes: indices of a class that always hold one value or are never read, and what replaces them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.absorbed import Absorbed, absorbed
from onnxlint_cmsis.analysis.constants import FLOAT
from onnxlint_cmsis.analysis.demand import Demand, Masks, needed_columns
from onnxlint_cmsis.analysis.known_lanes import fill_in
from onnxlint_cmsis.analysis.known_view import KnownView
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, leaves
from onnxlint_cmsis.model.axis_lanes import any_lane, indices_of
from onnxlint_cmsis.model.interval_axes import MAX_ELEMENTS, along, anywhere
from onnxlint_cmsis.model.variables import MAX_LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
    from onnxlint_cmsis.analysis.weighted import Weighted
    from onnxlint_cmsis.model.graph import Graph
    from onnxlint_cmsis.model.intervals import Mask


class ClassLanes(NamedTuple):
    """Lanes of one class: each is in `live`, `exact` or `unsafe`; all are ascending."""

    leaf: int
    """`DimensionClass.id`."""
    live: Sequence[int]
    """Lanes that have to stay; never empty, and all of them where the class is locked."""
    exact: tuple[int, ...] = ()
    """Lanes that may go, any number of them, with every output as it was."""
    unsafe: tuple[int, ...] = ()
    """Lanes that may go only if a bias takes their constant up to rounding."""
    constants: tuple[int, ...] = ()
    """Lanes that hold one value for every input wherever that matters; of locked classes too."""
    unread: tuple[int, ...] = ()
    """Lanes that no output needs; of locked classes too, and none of `constants`."""


class LaneReader(NamedTuple):
    """One layer that sums over channels."""

    axis: Axis
    """The axis it sums over."""
    read: Mask
    """Which indices of it count for some output."""
    absorbed: Absorbed
    """What it can do without."""


class Lanes(NamedTuple):
    """Lanes of all classes."""

    classes: dict[int, ClassLanes]
    """By `DimensionClass.id`."""
    view: KnownView
    """Known values of every tensor."""
    readers: dict[int, LaneReader]
    """Layers that sum over channels, by `Node.index`."""
    read: Masks | None = None
    """Elements of every tensor that count for an output; None where unknown, so that all may."""

    def increments(self, removed: Mapping[int, Collection[int]]) -> dict[int, NDArray[np.float64] | NDArray[np.int64]]:
        """Increment of each reader's bias per output channel if these lanes are removed, by `Node.index`.

        Along the old output axis, in the bias' own unit: int64 for slots of kind `int32` and `dequantized`, float64
        for `float`. Readers whose sums stay as they are are left out. Raises ValueError for a lane that may not go.
        """
        increments: dict[int, NDArray[np.float64] | NDArray[np.int64]] = {}
        for node, reader in self.readers.items():
            gone = self._gone(reader.axis, removed) & reader.read
            if (gone & ~reader.absorbed.unsafe).any():
                raise ValueError(f"{self.view.graph.nodes[node].label} needs a lane that is to go")
            added = reader.absorbed.added
            if added is None or not gone.any():
                continue
            total = (added * gone.reshape(added.shape[0], 1, added.shape[2])).sum(axis=2).reshape(-1)
            if total.any():
                increments[node] = total if reader.absorbed.kind == FLOAT else np.rint(total).astype(np.int64)
        return increments

    def constants_of(self, tensor: str, axis: int) -> NDArray[np.float64]:
        """Value of each index along an axis of a tensor, NaN where it is live.

        In float tensors up to rounding. Raises KeyError for a tensor of unknown rank or size along the axis.
        """
        known, shape = self.view.known(tensor), self.view.shape(tensor)
        size = None if shape is None else shape[axis]
        if known is None or shape is None or size is None:
            raise KeyError(tensor)
        line = along(known, axis % len(shape))
        return np.broadcast_to(np.where(line.varies, np.nan, (line.low + line.high) / 2), size)

    def _gone(self, axis: Axis, removed: Mapping[int, Collection[int]]) -> Mask:
        gone = np.zeros(axis.size or 0, bool)
        for leaf in leaves(axis):
            if removed.get(leaf):
                chosen = np.zeros(_count(axis, leaf), bool)
                chosen[list(removed[leaf])] = True
                gone |= indices_of(axis, leaf, chosen)
        return gone


def _count(axis: Axis, leaf: int) -> int:
    """Lanes of a leaf of the axis."""
    if axis.leaf == leaf:
        return axis.size or 0
    return max((_count(part, leaf) for part in axis.parts), default=0)


def analyse_lanes(
    graph: Graph,
    dimensions: Dimensions,
    read: Callable[[str], NDArray[Any] | None],
    *,
    disproved: Collection[tuple[str, int, int]] = (),
) -> Lanes:
    """Lanes of every class: constant, unread, and removable ones.

    `read` gives the array of a constant by its key, None where it cannot (`LoadedFile.reader`). `disproved`
    are tensor, axis and index of values that were seen to differ from what the analysis said before: they count as
    live.
    """
    view = KnownView(graph, read, disproved)
    if not _in_order(graph):
        return Lanes({lanes.id: _all_live(lanes) for lanes in dimensions.classes}, view, {})
    fill_in(view)
    asked = Demand(view)
    readers = {
        index: reader
        for index, weighted in view.weighted.items()
        if weighted.mixing and (reader := _reader(weighted, view, dimensions, asked.masks)) is not None
    }
    exact = _without(asked, {index: reader.absorbed.exact for index, reader in readers.items()})
    unsafe = _without(asked, {index: reader.absorbed.unsafe for index, reader in readers.items()})
    questions = _Questions(view, dimensions, asked.masks, exact.masks, unsafe.masks)
    return Lanes({lanes.id: questions.lanes_of(lanes) for lanes in dimensions.classes}, view, readers, asked.masks)


def _without(asked: Demand, absorbed: Mapping[int, Mask]) -> Demand:
    """Demand without the columns that layers can drop; the whole demand where none can."""
    return Demand(asked.view, asked.masks, absorbed) if any(mask.any() for mask in absorbed.values()) else asked


def _all_live(dimension_class: DimensionClass) -> ClassLanes:
    return ClassLanes(dimension_class.id, range(dimension_class.size))


def _in_order(graph: Graph) -> bool:
    """Tell whether every node comes after those whose results it reads, and no value is made twice."""
    results = [name for node in graph.nodes for name in node.outputs if name]
    return len(set(results)) == len(results) and all(
        graph.producers[name].index < node.index
        for node in graph.nodes
        for name in node.inputs
        if name in graph.producers
    )


def _reader(weighted: Weighted, view: KnownView, dimensions: Dimensions, asked: Masks) -> LaneReader | None:
    """A layer that sums over channels; None where the classes do not cover its channels."""
    node = view.graph.nodes[weighted.node]
    axes, wanted = dimensions.axes(node.inputs[weighted.data]), asked.get(node.outputs[0])
    count = weighted.shape[0] * weighted.shape[2]
    if axes is None or len(axes) <= weighted.axis or axes[weighted.axis].size != count:
        return None
    read = np.zeros(count, bool) if wanted is None else needed_columns(weighted, wanted)
    return LaneReader(axes[weighted.axis], read, absorbed(weighted, view))


class _Questions:
    """Questions to every class.

    `read` are the elements that count for some output. `exact` are those still needed if integer biases absorb all
    constants they can; `unsafe` are those still needed if float biases do so too.
    """

    def __init__(self, view: KnownView, dimensions: Dimensions, read: Masks, exact: Masks, unsafe: Masks) -> None:
        self.view = view
        self.dimensions = dimensions
        self.kept = _contracted_constants(view, dimensions)
        self.questions: tuple[Callable[[str, int], Mask], ...] = (
            lru_cache(None)(lambda name, axis: _mask(read, name, axis)),
            lru_cache(None)(lambda name, axis: _mask(exact, name, axis)),
            lru_cache(None)(lambda name, axis: _mask(unsafe, name, axis)),
            lru_cache(None)(self._live),
        )

    def lanes_of(self, dimension_class: DimensionClass) -> ClassLanes:
        """Lanes of one class."""
        if dimension_class.size > MAX_LANES:
            return _all_live(dimension_class)
        members = [(name, axis) for name, axis in dimension_class.members if not self.view.is_constant(name)]
        read, exact, unsafe, varying = (
            self._anywhere(dimension_class, members, question) for question in self.questions
        )
        if dimension_class.freedom is Freedom.LOCKED or dimension_class.id in self.kept:
            exact = unsafe = np.ones(dimension_class.size, bool)
        elif unsafe.all():
            exact = unsafe
        elif not unsafe.any():
            unsafe[np.argmax(exact)] = exact[np.argmax(exact)] = True
        constant = (~unsafe | ~varying) & read
        return ClassLanes(dimension_class.id, *map(_listed, (unsafe, ~exact, exact & ~unsafe, constant, ~read)))

    def _anywhere(
        self, dimension_class: DimensionClass, members: list[tuple[str, int]], question: Callable[[str, int], Mask]
    ) -> Mask:
        """Lanes for which the answer is yes along some axis of some tensor of the class."""
        lanes = np.zeros(dimension_class.size, bool)
        for name, position in members:
            axis = self.dimensions.axis(name, position)
            if not axis.indexed or (axis.size or 0) > MAX_ELEMENTS:
                return np.ones(dimension_class.size, bool)
            lanes |= any_lane(axis, dimension_class.id, dimension_class.size, question(name, position))
            if lanes.all():
                break
        return lanes if members else np.ones(dimension_class.size, bool)

    def _live(self, name: str, axis: int) -> Mask:
        known = self.view.known(name)
        return np.ones(1, bool) if known is None else along(known, axis).varies


def _contracted_constants(view: KnownView, dimensions: Dimensions) -> set[int]:
    """Leaves of constants that are multiplied with each other: every lane of them counts."""
    contracted: set[int] = set()
    for node in view.graph.nodes:
        if operator_of(node).roles.form is not None and all(view.is_constant(name) for name in node.inputs if name):
            for position, name in enumerate(node.inputs):
                for axis in (*(dimensions.input_axes(node.index, position) or ()), *(dimensions.axes(name) or ())):
                    contracted.update(leaves(axis))
    return contracted


def _mask(masks: Masks, name: str, axis: int) -> Mask:
    mask = masks.get(name)
    if mask is None:
        return np.zeros(1, bool)
    return anywhere(mask, [other for other in range(mask.ndim) if other != axis], keep=False).reshape(-1)


def _listed(mask: Mask) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
