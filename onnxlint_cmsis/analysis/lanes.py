"""Lanes: indices of a class that always hold one value or are never read, and what replaces them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.classes import FLOAT, BiasSlot, bias_slot, factor_scales
from onnxlint_cmsis.formats.names import operator_of, sums_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import any_lane, indices_of, leaves
from onnxlint_cmsis.model.graph import padded
from onnxlint_cmsis.model.intervals import (
    EXACT_INT,
    MAX_ELEMENTS,
    SLACK,
    Interval,
    along,
    anywhere,
    as_stored,
    exactly,
    fits,
    is_whole,
    lay,
    range_of,
    ranked,
    settled,
    unknown,
)
from onnxlint_cmsis.model.roles import Form, Sums
from onnxlint_cmsis.model.variables import MAX_LANES
from onnxlint_cmsis.operators.arithmetic import joined, parameter
from onnxlint_cmsis.operators.record import (
    Elements,
    LayerSum,
    Movement,
    ValueView,
    moved_input,
    passage,
    real_attribute,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.classes import DimensionClass, Dimensions, FactorScales
    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.axes import Axis
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.model.intervals import Floats, Mask
    from onnxlint_cmsis.model.roles import Roles


# Result of the lane analysis.


if TYPE_CHECKING:
    Numbers = NDArray[np.float64] | NDArray[np.int64]


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
    view: LaneView
    """Known values of every tensor."""
    readers: dict[int, LaneReader]
    """Layers that sum over channels, by `Node.index`."""
    read: Masks | None = None
    """Elements of every tensor that count for an output; None where unknown, so that all may."""

    def increments(self, removed: Mapping[int, Collection[int]]) -> dict[int, Numbers]:
        """Increment of each reader's bias per output channel if these lanes are removed, by `Node.index`.

        Along the old output axis, in the bias' own unit: int64 for slots of kind `int32` and `dequantized`, float64
        for `float`. Readers whose sums stay as they are are left out. Raises ValueError for a lane that may not go.
        """
        increments: dict[int, Numbers] = {}
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


# The one form of convolutions and matrix products: groups of rows that sum over columns.


class Taps(NamedTuple):
    """Weights less their zero-point, as numbers."""

    values: Floats
    """NaN where not known."""
    slack: Floats | None
    """Their own rounding, of the same shape, where they are not exact."""


class LaneWeights:
    """Weights of one layer."""

    def __init__(self, nonzero: Mask, read: Callable[[], Taps]) -> None:
        """`read` makes the numbers, which takes a float64 for each."""
        self.nonzero = nonzero
        """Which may be other than 0, of the shape of the weights."""
        self._read = read

    @cached_property
    def taps(self) -> Taps:
        """The numbers, of the same shape."""
        return self._read()

    @cached_property
    def touched(self) -> Mask:
        """Mask of the elements with a non-zero along the last axis."""
        return np.asarray(self.nonzero[..., 0] if self.nonzero.shape[-1] == 1 else self.nonzero.any(axis=-1))

    def turned(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> LaneWeights:
        """Weights in another order or under another shape."""

        def read() -> Taps:
            values, slack = self.taps
            return Taps(function(values), None if slack is None else function(slack))

        return LaneWeights(function(self.nonzero), read)


class Weighted(NamedTuple):
    """A node that sums its data along one axis with constant weights."""

    node: int
    """`Node.index`."""
    data: int
    """Input that holds the data."""
    weights: int
    """Input that holds the weights."""
    axis: int
    """Axis of the data that is summed, [groups x columns] long."""
    output_axis: int
    """Axis of the result, [groups x rows] long, both counted from the front."""
    mixing: bool
    """Whether the result has other channels than the data; False for a depthwise convolution."""
    plain: bool
    """Whether every element of the result sees all taps, so that a constant gives one value everywhere."""
    zero: Floats
    """Zero-point of the data."""
    matrix: LaneWeights
    """The weights, [groups, rows, columns, taps]."""
    real: bool
    """Whether the sum is computed in float."""
    factor: float = 1.0
    """Number the sum is multiplied by before the bias is added."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Groups, rows, columns and taps."""
        groups, rows, columns, taps = self.matrix.nonzero.shape
        return groups, rows, columns, taps

    @property
    def touched(self) -> Mask:
        """Mask of the columns that each row reads, [groups, rows, columns]."""
        return self.matrix.touched

    @property
    def taps(self) -> Taps:
        """Weights as numbers less their zero-point, [groups, rows, columns, taps]."""
        return self.matrix.taps

    def columns(self, data: Interval) -> Interval:
        """Constants along the summed axis less the zero-point, [groups, columns]; unknown where not one value."""
        line = along(data, self.axis)
        shape = self.shape[0], self.shape[2]
        spread = line.forgotten(line.varies).bent(lambda bound: bound - self.zero)
        return spread.moved(lambda array: np.broadcast_to(array, shape[0] * shape[1]).reshape(shape))


TERMS = 16
"""Terms after which the rounding of a float32 sum can exceed `SLACK` of their sizes."""


def sums(weighted: Weighted, columns: Interval) -> Interval | None:
    """Sum of each row over columns, [groups x rows]; unknown where a row reads unknowns or differs at borders.

    None where every row does, as in most layers: then no weight is read.
    """
    usable = columns.zero | (~columns.varies & weighted.plain)
    fine = ~(weighted.touched & ~usable[:, None, :]).any(axis=2)
    if fine.any():
        fine &= ~np.isnan(weighted.taps.values).any(axis=(2, 3))
    if not fine.any():
        return None
    middle = np.where(usable, (columns.low + columns.high) / 2, 0)
    values, slack = weighted.taps
    weights = np.where(np.isnan(values), 0, values)
    total = _times(weights.sum(axis=3), middle)
    result = exactly(np.where(fine, total, np.nan).reshape(-1) * weighted.factor)
    if not weighted.real or not middle.any():
        return result
    spread = np.where(usable, (columns.high - columns.low) / 2, 0)
    size = np.abs(weights).sum(axis=3)
    terms = np.count_nonzero(middle) * weights.shape[3]
    margin = _times(size, spread + np.abs(middle) * SLACK * (1 + terms / TERMS))
    if slack is not None:
        margin = margin + _times(slack.sum(axis=3), np.abs(middle) + spread)
    return result.widened(margin.reshape(-1) * abs(weighted.factor))


def _times(weights: Floats, columns: Floats) -> Floats:
    result: Floats = np.matmul(weights, columns[:, :, None])[:, :, 0]
    return result


# Known values of every tensor so far: constants, and values derived from them.


MAX_KNOWN = 2**23
"""Values of all activations that are followed together; a value that a whole tensor shares is not counted."""


class LaneView(ValueView):
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
        """Whether a tensor is computed from constants alone."""
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
        if shape is not None and values is not None and _covers(values.low, shape):
            if name not in self._derived and not self.takes(values.low.size):
                return
            stored = settled(as_stored(values, elem_type), elem_type)._replace(fault=None)
            self._known[name] = self._without_disproved(name, stored, shape)

    def takes(self, values: int) -> bool:
        """Whether that many more values of activations may be followed; a value for a whole tensor always may."""
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
        """Whether some element was seen to hold another value than the analysis said."""
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


def _covers(array: Floats | Mask, shape: Sequence[Size]) -> bool:
    """Whether every axis of an array is as long as the tensor's, or of length 1."""
    return array.ndim == len(shape) and all(have in (1, size) for have, size in zip(array.shape, shape, strict=True))


# Weights of a layer: which of them are 0 is seen in the numbers as stored, their values are read when asked for.


def lane_weights(view: LaneView, node: Node, position: int, channels: int) -> LaneWeights | None:
    """Weights at an input; `channels` is the axis of zero-points per channel. None where they are not known."""
    name = node.inputs[position]
    shape = view.shape(name)
    if shape is None or None in shape or not view.is_constant(name):
        return None
    sizes = [size or 0 for size in shape]
    zero = view.zero_points(node, position)
    if prod(sizes) > MAX_ELEMENTS or len(zero) not in (1, sizes[channels]):
        return None
    zero = zero.reshape([-1 if axis == channels else 1 for axis in range(len(sizes))])

    def taps() -> Taps:
        return _taps(view.known(name), zero, sizes)

    nonzero = _nonzero(view, name, zero)
    if nonzero is None or nonzero.shape != tuple(sizes):
        values, slack = taps()
        nonzero = np.asarray(values != 0 if slack is None else (values != 0) | (slack != 0))
    return LaneWeights(nonzero, taps)


def _taps(known: Interval | None, zero: Floats, sizes: list[int]) -> Taps:
    if known is None:
        raise ValueError("weights of unknown rank")
    known = known.forgotten(known.varies)
    exact = known.low is known.high
    middle = known.low if exact else (known.low + known.high) / 2
    slack = None if exact else np.broadcast_to(known.high - known.low, sizes) / 2
    return Taps(np.broadcast_to(middle - zero, sizes), slack)


def _nonzero(view: LaneView, name: str, zero: Floats) -> Mask | None:
    """Where weights are not their zero-point, without making numbers of them; None where that takes more."""
    array = view.stored(name)
    if array is not None:
        return _differs(array, zero)
    maker = view.graph.producers.get(name)
    if maker is None or not operator_of(maker).dequantizes or zero.any() or view.is_disproved(name):
        return None
    triple = next(quantized for quantized in operator_of(maker).roles.quantized if quantized.value >= 0)
    array = view.stored(maker.inputs[triple.value]) if maker.has(triple.value) else None
    scale, steps_zero = (parameter(maker, view, position) for position in (triple.scale, triple.zero_point))
    if array is None or scale is None or steps_zero is None or scale.low is not scale.high:
        return None
    keeps = np.isfinite(scale.low) & (scale.low.astype(np.float32) > 0)  # nothing else than 0 becomes 0
    return _differs(array, steps_zero.low) if keeps.all() and steps_zero.exact.all() else None


def _differs(array: NDArray[Any], zero: Floats) -> Mask:
    """Where stored numbers are another than `zero`, compared in their own type if that holds it."""
    narrow = zero.astype(array.dtype)
    return np.asarray(array != (narrow if (narrow == zero).all() else zero))


# Convolutions and matrix products as groups of rows that sum over columns, by their records' roles.


def weighted_of(node: Node, view: LaneView) -> Weighted | None:
    """A node in this form; None for other operators, and for unknown or contradictory shapes or weights."""
    weighted, result = _form(node, view), view.shape(node.outputs[0])
    if weighted is None or result is None:
        return weighted
    rows, axis = weighted.shape[0] * weighted.shape[1], weighted.output_axis
    return weighted if axis < len(result) and result[axis] in (None, rows) else None  # a channel for every row


def _form(node: Node, view: LaneView) -> Weighted | None:
    roles = view.roles(node)
    if roles.form is None or sums_of(view.graph, node) is Sums.SCALED:
        return None
    if roles.form.convolves:
        return _convolution(node, view, roles, roles.form)
    weights = next(
        (position for position in roles.weights if node.has(position) and view.is_constant(node.inputs[position])), -1
    )
    batch_turned = node.int("transBatchA") or node.int("transBatchB")
    return _product(node, view, weights) if weights >= 0 and not batch_turned else None


def _zero_point(view: LaneView, node: Node, data: int) -> Floats:
    """The one zero-point of the data, NaN where there are several."""
    zero = view.zero_points(node, data)
    return zero if len(zero) == 1 else np.array([np.nan])


def _convolution(node: Node, view: LaneView, roles: Roles, form: Form) -> Weighted | None:
    """A convolution whose data and weights fit, whatever the order of their axes."""
    position = roles.weights[0]
    shape, weights = view.input_shape(node, roles.data[0]), view.input_shape(node, position)
    if shape is None or not weights or 0 in weights or node.int("channels_last"):
        return None
    if len(shape) < 3 or {len(weights), len(view.shape(node.outputs[0]) or shape)} != {len(shape)}:
        return None
    axis, outputs, inputs = roles.channels(len(shape)), form.outputs(len(shape)), form.inputs(len(shape))
    channels, columns = shape[axis] or 0, weights[inputs] or 0
    if stated := roles.stated("group").attribute:
        groups = node.int(stated, 1)
    else:
        groups = channels if form.depthwise else 1 if form.transposed else channels // max(columns, 1)
    whole, summed = (columns, columns) if form.transposed else (weights[outputs] or 0, groups * columns)
    factors = lane_weights(view, node, position, outputs)
    if factors is None or groups < 1 or whole % groups or channels != summed or not channels:
        return None

    def grouped(array: NDArray[Any]) -> NDArray[Any]:
        ordered = np.moveaxis(array, (outputs, inputs), (0, 1))
        rows, columns = ordered.shape[:2]
        if form.transposed:
            return np.swapaxes(ordered.reshape(rows, groups, columns // groups, -1), 0, 1)
        return np.reshape(ordered, (groups, rows // groups, columns, -1))

    matrix, zero = factors.turned(grouped), _zero_point(view, node, roles.data[0])
    mixing = not form.depthwise and (groups == 1 or matrix.nonzero.shape[2] > 1)
    plain, real = _sees_all_taps(node, roles, matrix.nonzero.shape[3]), sums_of(view.graph, node) is Sums.FLOAT
    return Weighted(node.index, roles.data[0], position, axis, axis, mixing, plain, zero, matrix, real)


def _sees_all_taps(node: Node, roles: Roles, taps: int) -> bool:
    """Whether every element of the result sees all taps; SAME padding is taken as met wherever the window is wide."""
    same = roles.channels_last and taps > 1 and node.text("padding", "SAME") != "VALID"
    if padded(node) or same or roles.form is None or not roles.form.transposed:
        return not (padded(node) or same)
    strides = {*node.ints("strides"), node.int("stride_h", 1), node.int("stride_w", 1)}
    return (
        taps == 1 and strides <= {1} and not any(node.ints("output_padding")) and "output_shape" not in node.attributes
    )


def _product(node: Node, view: LaneView, weights: int) -> Weighted | None:
    """Weights of rank 2 against data of any rank; the usual weights are the right factor."""
    roles = view.roles(node)
    is_right, rows_first = weights == roles.weights[0], roles.form is Form.ROWS
    data = next(position for position in (*roles.data, *roles.weights) if position != weights)
    turned = bool(node.int("transA")), rows_first or bool(node.int("transB"))
    rows, columns = (1, 0) if is_right else (0, 1)
    if turned[is_right]:
        rows, columns = columns, rows
    stored, shape = lane_weights(view, node, weights, rows), view.input_shape(node, data)
    result = view.shape(node.outputs[0]) if rows_first else shape
    if stored is None or stored.nonzero.ndim != 2 or not shape or not result or len(shape) < 2 - rows_first:
        return None
    axis = len(shape) - (1 if is_right != turned[not is_right] else 2)
    if shape[axis] != stored.nonzero.shape[columns]:
        return None
    factors = stored.turned(lambda array: (array if rows == 0 else array.T)[None, :, :, None])
    real, zero = sums_of(view.graph, node) is Sums.FLOAT, _zero_point(view, node, data)
    factor = real_attribute(node, "alpha", 1.0) if real else 1.0
    where = node.index, data, weights, axis, len(result) - (1 if is_right else 2)
    return Weighted(*where, True, True, zero, factors, real, factor)


# Forward pass: known values of every tensor, from constants and from zero weights.


def fill_in(view: LaneView) -> None:
    """Carry intervals through all nodes in order; note the layers that sum over constant weights."""
    for node in view.graph.nodes:
        whole = node.inputs and node.inputs[0] and node.outputs and node.outputs[0] and not node.bodies
        if whole and not all(name in view.graph.constants for name in node.outputs if name):
            stored = all(name in view.graph.constants for name in node.inputs if name)
            if stored and not any(node.outputs[1:]) and operator_of(node).roles.form is None:
                # mostly weights, whose numbers may never be needed
                view.postpone(node.outputs[0], partial(_carry, node, view))
            else:
                _carry(node, view)
        view.derive(node)


def _carry(node: Node, view: LaneView) -> None:
    """Note the results of a node; contradictory shapes are skipped."""
    with np.errstate(all="ignore"), suppress(ValueError, IndexError):
        _compute(node, view)


def _compute(node: Node, view: LaneView) -> None:
    operator = operator_of(node)
    if operator.movement is not None:
        for position, name in enumerate(node.outputs):
            if name:
                view.learn(node, position, _moved(node, view, position))
        return
    weighted = weighted_of(node, view)
    if weighted is not None:
        view.weighted[node.index] = weighted
    if callable(operator.values) and not any(node.outputs[1:]):
        view.learn(node, 0, operator.values(node, view))


def _moved(node: Node, view: LaneView, position: int) -> Interval | None:
    """Elements of the data where an output has them."""
    way, movement = passage(node, view, position), operator_of(node).movement
    known = view.input(node, moved_input(node, view))
    move = None if way is None or movement is None else movement(way)
    return None if known is None or move is None else known.moved(move.forward)


# Backward pass: the elements of every tensor that an output may need.


Masks = dict[str, "Mask"]
"""Per tensor, of its rank, with length 1 along axes where nothing differs; absent where no node reads it."""
MASKS_OF_A_VALUE = 16
"""Elements of masks that take as many bytes as one value with its ends."""
ALL = np.ones((), bool)
"""Everything, of any rank."""


class Demand:
    """Masks of one question.

    `rows` say which rows of a layer's result count; None for the masks that this pass finds. `absorbed` are columns
    that a layer can do without, by `Node.index`.
    """

    def __init__(
        self,
        view: LaneView,
        rows: Masks | None = None,
        absorbed: Mapping[int, Mask] | None = None,
    ) -> None:
        self.view = view
        self.masks: Masks = {}
        self.rows = self.masks if rows is None else rows
        self.absorbed = absorbed or {}
        for name in view.graph.outputs:
            self._need(name, ALL)
        for node in view.graph.nodes:
            for body in node.bodies:
                self._need_all(body.outputs)
        for node in reversed(view.graph.nodes):
            try:
                self._node(node)
            except (ValueError, IndexError):  # shapes that contradict each other
                self._need_all(node.inputs)

    def _node(self, node: Node) -> None:
        weighted, operator = self.view.weighted.get(node.index), operator_of(node)
        if weighted is not None:
            self._sum(node, weighted)
        elif operator.elements is Elements.SIZES:
            return
        elif operator.movement is not None:
            self._move(node, operator.movement)
        elif not callable(operator.demand) or any(node.outputs[1:]) or not node.outputs:
            self._need_all(node.inputs)
        elif node.outputs[0] in self.masks:
            self._apply(node, operator.demand(node, self.view, self.masks[node.outputs[0]]))

    def _apply(self, node: Node, masks: Mapping[int, Mask] | None) -> None:
        """Mark the demand of some inputs, and all of every other input."""
        for position, name in enumerate(node.inputs):
            if name:
                self._need(name, ALL if masks is None else masks.get(position, ALL))

    def _sum(self, node: Node, weighted: Weighted) -> None:
        result = node.outputs[0]
        if result not in self.masks:
            return
        mask = needed_columns(weighted, self.rows.get(result, ~ALL) if weighted.mixing else self.masks[result])
        if weighted.mixing and node.index in self.absorbed:
            mask = mask & ~self.absorbed[node.index]
        rank = len(self.view.shape(node.inputs[weighted.data]) or ())
        demanded = {weighted.data: mask.reshape([-1 if axis == weighted.axis else 1 for axis in range(rank)])}
        summand = operator_of(node).roles.summand
        if node.has(summand):
            demanded[summand] = self.masks[result]
        self._apply(node, demanded)

    def _move(self, node: Node, movement: Movement) -> None:
        for position, name in enumerate(node.outputs):
            if name in self.masks:
                way, mask = passage(node, self.view, position), self.masks[name]
                move = movement(way) if way is not None and mask.ndim else None
                self._apply(node, None if move is None else {moved_input(node, self.view): move.backward(mask)})

    def _need_all(self, names: Iterable[str]) -> None:
        for name in names:
            if name:
                self._need(name, ALL)

    def _need(self, name: str, mask: Mask) -> None:
        shape = self.view.shape(name)
        if shape is None or not _covers(mask, shape):
            mask = ALL
        if shape is not None and not mask.ndim:
            mask = mask.reshape((1,) * len(shape))
        held = self.masks.get(name)
        if not self.view.takes(mask.size // MASKS_OF_A_VALUE):
            mask = np.ones((1,) * mask.ndim, bool)
        if held is not None:
            mask = held | mask if fits(held.shape, mask.shape) else np.ones((1,) * mask.ndim, bool)
        self.masks[name] = mask


def needed_columns(weighted: Weighted, mask: Mask) -> Mask:
    """Columns that demanded rows read, [groups x columns], from a mask of the result."""
    groups, outputs = weighted.shape[:2]
    rows = anywhere(mask, [axis for axis in range(mask.ndim) if axis != weighted.output_axis], keep=False)
    if rows.all():
        return np.asarray(weighted.touched.any(axis=1).reshape(-1))
    rows = np.broadcast_to(rows, groups * outputs).reshape(groups, outputs)
    return np.asarray((weighted.touched & rows[:, :, None]).any(axis=1).reshape(-1))


# What removed constant lanes add to a layer's sums: whether its bias can absorb it, and whether exactly.


LIMIT = 2.0**31 - 1
"""Largest int32."""
WHOLE = 1e-3
"""How far a float32 number may be from the whole multiple of its scale that it stands for, in units of the scale."""


class Absorbed(NamedTuple):
    """Columns that one layer can do without, [groups x columns]."""

    exact: Mask
    """Columns that may go with the sums as they were: zeros, and constants that an integer bias takes."""
    unsafe: Mask
    """Those, and constants that a bias takes only up to rounding."""
    added: Floats | None
    """What the bias gains for each column, [groups, rows, columns], in its own unit; None where only zeros may go."""
    kind: str
    """`BiasSlot.kind`."""


def absorbed(weighted: Weighted, view: LaneView) -> Absorbed:
    """Constants of its data that a layer's bias can absorb."""
    node = view.graph.nodes[weighted.node]
    data = view.known(node.inputs[weighted.data])
    if data is None:
        raise ValueError(f"{node.label} sums over an axis of a tensor of unknown rank")
    columns = weighted.columns(data)
    known, zero = ~columns.varies & ~columns.zero & weighted.plain, columns.zero
    slot = bias_slot(view.graph, node) if known.any() else None
    if slot is None or np.isnan(weighted.taps.values).any():
        return Absorbed(zero.reshape(-1), zero.reshape(-1), None, FLOAT)
    values = np.where(known, (columns.low + columns.high) / 2, 0)
    added, exact = _added(weighted, view.graph, slot, values)
    exact &= known & (columns.low == columns.high)
    if slot.kind != FLOAT:
        most = np.abs(added).sum(axis=2).reshape(-1)
        if slot.tensor:
            held = view.known(slot.tensor)
            most = most + (np.nan if held is None else np.abs(held.low).reshape(-1))
        if not (most <= LIMIT).all():  # int32 does not hold the bias with all constants added
            return Absorbed(zero.reshape(-1), zero.reshape(-1), None, FLOAT)
    return Absorbed((zero | exact).reshape(-1), (zero | known).reshape(-1), added, slot.kind)


def _added(weighted: Weighted, graph: Graph, slot: BiasSlot, values: Floats) -> tuple[Floats, Mask]:
    """Gain of the bias for each column, and the columns where it is exact."""
    if not weighted.real:
        return weighted.taps.values.sum(axis=3) * values[:, None, :], np.ones(values.shape, bool)
    node = graph.nodes[weighted.node]
    factor = weighted.factor / real_attribute(node, "beta", 1.0)
    added = weighted.taps.values.sum(axis=3) * values[:, None, :] * factor
    if slot.kind == FLOAT:
        return added, np.zeros(values.shape, bool)
    added = added / _per_row(slot.scales, weighted)[:, :, :, 0]
    factors = factor_scales(graph, node)
    if factors is None or not slot.exact:
        return added, np.zeros(values.shape, bool)
    whole, exact = _whole(weighted, factors, values)
    return np.where(exact[:, None, :], whole, added), exact


def _whole(weighted: Weighted, factors: FactorScales, values: Floats) -> tuple[Floats, Mask]:
    """Gain in integers, and the columns where weights and values are whole multiples of their scales."""
    weights, data = weighted.taps.values / _per_row(factors.weights, weighted), values / factors.data
    exact = (np.abs(data - np.rint(data)) < WHOLE) & (np.abs(weights - np.rint(weights)) < WHOLE).all(axis=(1, 3))
    return np.rint(weights).sum(axis=3) * np.rint(data)[:, None, :], exact


def _per_row(scales: tuple[float, ...], weighted: Weighted) -> Floats:
    """One number for each output channel, against weights [groups, rows, columns, taps]."""
    groups, rows = weighted.shape[:2]
    return np.broadcast_to(np.array(scales), groups * rows).reshape(groups, rows, 1, 1)


# The lane analysis: a forward pass for values, a backward pass for demand, and the lanes of every class.


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
    view = LaneView(graph, read, disproved)
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
    """Whether every node comes after those whose results it reads, and no value is made twice."""
    results = [name for node in graph.nodes for name in node.outputs if name]
    return len(set(results)) == len(results) and all(
        graph.producers[name].index < node.index
        for node in graph.nodes
        for name in node.inputs
        if name in graph.producers
    )


def _reader(weighted: Weighted, view: LaneView, dimensions: Dimensions, asked: Masks) -> LaneReader | None:
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

    def __init__(self, view: LaneView, dimensions: Dimensions, read: Masks, exact: Masks, unsafe: Masks) -> None:
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


def _contracted_constants(view: LaneView, dimensions: Dimensions) -> set[int]:
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


__all__ = ["ClassLanes", "Lanes", "analyse_lanes"]
