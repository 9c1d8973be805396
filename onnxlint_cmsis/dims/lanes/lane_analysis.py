"""The lane analysis: a forward pass for values, a backward pass for demand, and the lanes of every class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.algebra.axes import leaves
from onnxlint_cmsis.algebra.cells import any_lane
from onnxlint_cmsis.algebra.spread import MAX_ELEMENTS, along, anywhere
from onnxlint_cmsis.algebra.variables import MAX_LANES
from onnxlint_cmsis.dims.lanes.absorb import absorbed
from onnxlint_cmsis.dims.lanes.lane_demand import Demand, Masks, needed_columns
from onnxlint_cmsis.dims.lanes.lane_result import ClassLanes, LaneReader, Lanes
from onnxlint_cmsis.dims.lanes.lane_values import fill_in
from onnxlint_cmsis.dims.lanes.lane_view import LaneView
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.algebra.interval import Mask
    from onnxlint_cmsis.dims.lanes.weighted_sums import Weighted
    from onnxlint_cmsis.dims.result import DimensionClass, Dimensions
    from onnxlint_cmsis.graph.model import Graph


def analyse_lanes(
    graph: Graph,
    dimensions: Dimensions,
    read: Callable[[str], NDArray[Any] | None],
    *,
    disproved: Collection[tuple[str, int, int]] = (),
) -> Lanes:
    """Lanes of every class: constant, unread, and removable ones.

    `read` gives the array of a constant by its key, None where it cannot (`onnx_graph.arrays.reader`). `disproved`
    are tensor, axis and index of values that were seen to differ from what the analysis said before: they count as
    live.
    """
    view = LaneView(graph, read, disproved)
    if not _in_order(graph):
        return Lanes({one.id: _all_live(one) for one in dimensions.classes}, view, {})
    fill_in(view)
    asked = Demand(view)
    readers = {
        index: reader
        for index, one in view.weighted.items()
        if one.mixing and (reader := _reader(one, view, dimensions, asked.masks)) is not None
    }
    exact = _without(asked, {index: one.absorbed.exact for index, one in readers.items()})
    unsafe = _without(asked, {index: one.absorbed.unsafe for index, one in readers.items()})
    questions = _Questions(view, dimensions, asked.masks, exact.masks, unsafe.masks)
    return Lanes({one.id: questions.lanes_of(one) for one in dimensions.classes}, view, readers, asked.masks)


def _without(asked: Demand, absorbed: Mapping[int, Mask]) -> Demand:
    """Demand without the columns that layers can drop; the whole demand where none can."""
    return Demand(asked.view, asked.masks, absorbed) if any(mask.any() for mask in absorbed.values()) else asked


def _all_live(one: DimensionClass) -> ClassLanes:
    return ClassLanes(one.id, range(one.size))


def _in_order(graph: Graph) -> bool:
    """Whether every node comes after those whose results it reads, and no value is made twice."""
    made = [name for node in graph.nodes for name in node.outputs if name]
    return len(set(made)) == len(made) and all(
        graph.producers[name].index < node.index
        for node in graph.nodes
        for name in node.inputs
        if name in graph.producers
    )


def _reader(weighted: Weighted, view: LaneView, dimensions: Dimensions, asked: Masks) -> LaneReader | None:
    """A layer that sums over channels; None where the classes do not cover its channels."""
    node = view.graph.nodes[weighted.node]
    axes, made = dimensions.axes(node.inputs[weighted.data]), asked.get(node.outputs[0])
    count = weighted.shape[0] * weighted.shape[2]
    if axes is None or len(axes) <= weighted.axis or axes[weighted.axis].size != count:
        return None
    read = np.zeros(count, bool) if made is None else needed_columns(weighted, made)
    return LaneReader(axes[weighted.axis], read, absorbed(weighted, view))


class _Questions:
    """Questions to every class.

    `read` are the elements that count for some output. `exact` are those still needed if integer biases absorb all
    constants they can; `unsafe` are those still needed if float biases do so too.
    """

    def __init__(self, view: LaneView, dimensions: Dimensions, read: Masks, exact: Masks, unsafe: Masks) -> None:
        self.view = view
        self.dimensions = dimensions
        self.kept = _contracted_constants(view, dimensions)
        self.questions: tuple[Callable[[str, int], Mask], ...] = (
            lru_cache(None)(lambda name, place: _mask(read, name, place)),
            lru_cache(None)(lambda name, place: _mask(exact, name, place)),
            lru_cache(None)(lambda name, place: _mask(unsafe, name, place)),
            lru_cache(None)(self._live),
        )

    def lanes_of(self, one: DimensionClass) -> ClassLanes:
        """Lanes of one class."""
        if one.size > MAX_LANES:
            return _all_live(one)
        members = [(name, place) for name, place in one.members if not self.view.is_constant(name)]
        read, exact, unsafe, varying = (self._anywhere(one, members, question) for question in self.questions)
        if one.freedom is Freedom.LOCKED or one.id in self.kept:
            exact = unsafe = np.ones(one.size, bool)
        elif unsafe.all():
            exact = unsafe
        elif not unsafe.any():
            unsafe[np.argmax(exact)] = exact[np.argmax(exact)] = True
        constant = (~unsafe | ~varying) & read
        return ClassLanes(one.id, *map(_listed, (unsafe, ~exact, exact & ~unsafe, constant, ~read)))

    def _anywhere(
        self, one: DimensionClass, members: list[tuple[str, int]], question: Callable[[str, int], Mask]
    ) -> Mask:
        """Lanes for which the answer is yes along some axis of some tensor of the class."""
        found = np.zeros(one.size, bool)
        for name, place in members:
            axis = self.dimensions.axis(name, place)
            if not axis.indexed or (axis.size or 0) > MAX_ELEMENTS:
                return np.ones(one.size, bool)
            found |= any_lane(axis, one.id, one.size, question(name, place))
            if found.all():
                break
        return found if members else np.ones(one.size, bool)

    def _live(self, name: str, place: int) -> Mask:
        known = self.view.known(name)
        return np.ones(1, bool) if known is None else along(known, place).varies


def _contracted_constants(view: LaneView, dimensions: Dimensions) -> set[int]:
    """Leaves of constants that are multiplied with each other: every lane of them counts."""
    found: set[int] = set()
    for node in view.graph.nodes:
        if operator_of(node).roles.form is not None and all(view.is_constant(name) for name in node.inputs if name):
            for position, name in enumerate(node.inputs):
                for axis in dimensions.input_axes(node.index, position) or dimensions.axes(name) or ():
                    found.update(leaves(axis))
    return found


def _mask(masks: Masks, name: str, place: int) -> Mask:
    mask = masks.get(name)
    if mask is None:
        return np.zeros(1, bool)
    return anywhere(mask, [axis for axis in range(mask.ndim) if axis != place], keep=False).reshape(-1)


def _listed(mask: Mask) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())
