"""Result of the lane analysis."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.axes import leaves
from onnxlint_cmsis.algebra.cells import indices_of
from onnxlint_cmsis.algebra.spread import along
from onnxlint_cmsis.dims.bias import FLOAT
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.algebra.axes import Axis
    from onnxlint_cmsis.algebra.interval import Mask
    from onnxlint_cmsis.dims.lanes.absorb import Absorbed
    from onnxlint_cmsis.dims.lanes.lane_demand import Masks
    from onnxlint_cmsis.dims.lanes.lane_view import LaneView

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
        found: dict[int, Numbers] = {}
        for node, reader in self.readers.items():
            gone = self._gone(reader.axis, removed) & reader.read
            if (gone & ~reader.absorbed.unsafe).any():
                raise ValueError(f"{self.view.graph.nodes[node].label} needs a lane that is to go")
            added = reader.absorbed.added
            if added is None or not gone.any():
                continue
            total = (added * gone.reshape(added.shape[0], 1, added.shape[2])).sum(axis=2).reshape(-1)
            if total.any():
                found[node] = total if reader.absorbed.kind == FLOAT else np.rint(total).astype(np.int64)
        return found

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
