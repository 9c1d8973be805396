"""What the operators' rows see: the graph, constants, and what is known of every tensor so far."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.dims.lanes.known import Known, all_live, exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.dims.lanes.known import Floats
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.types import Size

EXACT_INT = 2.0**53
"""Integers from here on do not fit a float64."""
FULL_FLOATS = ("float32", "float64")
"""Real types whose arithmetic is followed; of the shorter ones only zeros are."""
WIDE = 2.0**-6
"""Bounds further apart than this share of their size do not tell a value."""
RANGES = {
    **{f"int{bits}": (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) for bits in (4, 8, 16, 32)},
    **{f"uint{bits}": (0.0, 2.0**bits - 1) for bits in (4, 8, 16, 32)},
    "int64": (-EXACT_INT, EXACT_INT),
    "uint64": (0.0, EXACT_INT),
    "bool": (0.0, 1.0),
    "float32": (-3e38, 3e38),
    "float64": (-1e300, 1e300),
}
"""Numbers of each type; a result outside is live."""


class Facts:
    """Graph, constants and known values."""

    def __init__(
        self,
        graph: Graph,
        read: Callable[[str], NDArray[Any] | None],
        disproved: Collection[tuple[str, int, int]] = (),
    ) -> None:
        self.graph = graph
        self._read = read
        self._known: dict[str, Known] = {}
        self._derived: set[str] = set()
        self._disproved: dict[str, list[tuple[int, int]]] = {}
        for name, axis, index in disproved:
            self._disproved.setdefault(name, []).append((axis, index))

    def shape(self, name: str) -> tuple[Size, ...] | None:
        """Shape of a tensor, None where its rank is unknown."""
        constant = self.graph.constants.get(name)
        return constant.shape if constant is not None else self.graph.shape(name)

    def elem_type(self, name: str) -> str:
        """Element type of a tensor."""
        constant = self.graph.constants.get(name)
        return constant.elem_type if constant is not None else self.graph.elem_type(name)

    def is_constant(self, name: str) -> bool:
        """Whether a tensor is computed from constants alone."""
        return name in self.graph.constants or name in self._derived

    def known(self, name: str) -> Known | None:
        """What is known of a tensor; None where not even its rank is."""
        if name not in self._known and name in self.graph.constants:
            self._known[name] = self._constant(name)
        if name in self._known:
            return self._known[name]
        shape = self.shape(name)
        return None if shape is None else all_live(len(shape))

    def input(self, node: Node, position: int) -> Known | None:
        """What is known of a node's input; None where it is omitted or its rank is unknown."""
        return self.known(node.inputs[position]) if has(node, position) else None

    def scalar(self, node: Node, position: int, default: float) -> float:
        """The one value of an input, `default` where it is omitted, NaN where it is not one exact value."""
        if not has(node, position):
            return default
        known = self.input(node, position)
        if known is None or known.low.size != 1 or known.low.flat[0] != known.high.flat[0]:
            return np.nan
        return float(known.low.flat[0])

    def vector(self, node: Node, position: int, default: float) -> Floats:
        """Exact values of an input of rank 0 or 1 as a vector, NaN where they are not known."""
        if not has(node, position):
            return np.array([default])
        known = self.input(node, position)
        if known is None or known.low.ndim > 1 or known.low is not known.high:
            return np.array([np.nan])
        return known.low.reshape(-1)

    def ints(self, node: Node, attribute: str, position: int) -> list[int] | None:
        """A list of sizes or axes, an attribute in older opsets and an input in newer ones; None where not known."""
        if not has(node, position):
            return list(node.ints(attribute)) if attribute in node.attributes else None
        constant = self.graph.constants.get(node.inputs[position])
        values = None if constant is None or constant.overridable else constant.values()
        return None if values is None else [int(value) for value in values]

    def learn(self, node: Node, position: int, known: Known | None) -> None:
        """Keep what follows for an output, as far as its shape and type allow it."""
        name = node.outputs[position]
        shape = self.shape(name)
        if shape is not None and known is not None and _fits(known, shape):
            self._known[name] = self._without_disproved(name, _storable(known, self.elem_type(name)), shape)

    def derive(self, node: Node) -> None:
        """Note that a node computes with constants alone, where it does."""
        given = [name for name in node.inputs if name]
        if given and all(map(self.is_constant, given)):
            self._derived.update(filter(None, node.outputs))

    def _constant(self, name: str) -> Known:
        constant = self.graph.constants[name]
        array = None if constant.overridable else self._read(name)
        if array is None or array.shape != constant.shape or array.dtype.kind not in "fiub":
            return all_live(len(constant.shape))
        values = array.astype(np.float64)
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            values[np.abs(values) >= EXACT_INT] = np.nan
        return exactly(values)

    def _without_disproved(self, name: str, known: Known, shape: tuple[Size, ...]) -> Known:
        for axis, index in self._disproved.get(name, ()):
            size = shape[axis] or 1
            place = np.arange(size).reshape([-1 if one == axis else 1 for one in range(len(shape))])
            known = known.only(place != index)
        return known


def has(node: Node, position: int) -> bool:
    """Whether a node has an input."""
    return position < len(node.inputs) and bool(node.inputs[position])


def real_attribute(node: Node, name: str, default: float) -> float:
    """A number among a node's attributes, NaN where it is none."""
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, int | float) else np.nan


def _fits(known: Known, shape: tuple[Size, ...]) -> bool:
    """Whether every axis is as long as the model says, or not spread out."""
    sizes = known.low.shape
    return len(sizes) == len(shape) and all(have in (1, size) for have, size in zip(sizes, shape, strict=True))


def _storable(known: Known, elem_type: str) -> Known:
    """Live where a value does not fit the type or is not followed in it."""
    if elem_type not in RANGES:
        return known.only(known.zero)
    low, high = RANGES[elem_type]
    fine = (known.low >= low) & (known.high <= high)
    fine &= known.high - known.low <= WIDE * (np.abs(known.low) + np.abs(known.high))
    if elem_type not in FULL_FLOATS:
        fine &= known.low == known.high
    return known if known.low is known.high and fine.all() else known.only(fine)
