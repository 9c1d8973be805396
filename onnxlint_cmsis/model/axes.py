"""Resolved axes: the structure of a tensor's axis after all unions, and the place of each class in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import accumulate

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.variables import MAX_PARTS, Concat, Dimension, combined, find, size_of


class AxisForm(str, Enum):
    """How an axis is built."""

    LEAF = "leaf"
    CONCAT = "concat"
    PRODUCT = "product"


class Axis(NamedTuple):
    """One resolved axis: a leaf, parts one after the other, or a grid of factors."""

    form: AxisForm
    """Leaf, concat or product."""
    size: Size
    """Elements along the axis, None where symbolic."""
    leaf: int = -1
    """Number of the leaf, which is the class's id where it is a class; -1 in a structure."""
    parts: tuple[Axis, ...] = ()
    """Parts in order, or factors outermost first."""

    @property
    def indexed(self) -> bool:
        """Tell whether its size and every part's is known, so that it has indices."""
        return self.size is not None and all(part.indexed for part in self.parts)


class Resolver:
    """Turns dimensions into axes; each root once, without recursion.

    Leaves are numbered as they appear, after those that are given.
    """

    def __init__(self, first: Sequence[Dimension] = ()) -> None:
        self.leaves: list[Dimension] = list(first)
        self._numbers = {root: number for number, root in enumerate(first)}
        self.opaque: dict[int, str] = {}
        """Leaves of axes whose parts are not followed, and the axes' own, with the reason."""
        self._axes: dict[Dimension, Axis] = {}

    def axis(self, dimension: Dimension) -> Axis:
        """Resolved form of a dimension; nested concatenations and products are laid flat."""
        target = find(dimension)
        pending = [target]
        while target not in self._axes:
            root = pending[-1]
            waiting = [] if root.binding is None else [find(part) for part in root.binding.parts]
            waiting = [part for part in waiting if part not in self._axes]
            if waiting:
                pending.extend(reversed(waiting))
                continue
            pending.pop()
            if root not in self._axes:
                self._axes[root] = self._resolve(root)
        return self._axes[target]

    def _resolve(self, root: Dimension) -> Axis:
        if root.binding is None:
            return self._leaf(root)
        parts = [self._axes[find(part)] for part in root.binding.parts]
        form = AxisForm.CONCAT if isinstance(root.binding, Concat) else AxisForm.PRODUCT
        root.width = sum(find(part).width for part in root.binding.parts)
        if root.width > MAX_PARTS:
            return self._opaque(root, parts, f"more than {MAX_PARTS} parts meet in one axis")
        whole = combined(root.binding, [part.size for part in parts])
        if None not in (whole, root.size) and whole != root.size:
            return self._opaque(root, parts, f"parts of {whole} elements meet in an axis of {root.size}")
        return self._joined(form, size_of(root), parts)

    def _opaque(self, root: Dimension, parts: Sequence[Axis], reason: str) -> Axis:
        """A leaf in place of an axis with parts that are not followed."""
        root.width = 1
        axis = self._leaf(root)
        for leaf in (axis.leaf, *(leaf for part in parts for leaf in leaves(part))):
            self.opaque[leaf] = reason
        return axis

    def _leaf(self, root: Dimension) -> Axis:
        if root not in self._numbers:
            self._numbers[root] = len(self.leaves)
            self.leaves.append(root)
        return Axis(AxisForm.LEAF, root.size, self._numbers[root])

    def _joined(self, form: AxisForm, size: Size, parts: Sequence[Axis]) -> Axis:
        flat: list[Axis] = []
        for part in parts:
            flat.extend(part.parts if part.form is form else (part,))
        if form is AxisForm.PRODUCT:
            flat = [part for part in flat if not self._dropped(part)] or flat[:1]
        return flat[0] if len(flat) == 1 else Axis(form, size, -1, tuple(flat))

    def _dropped(self, part: Axis) -> bool:
        """Tell whether a factor is 1 and locked, so that it is left out."""
        return part.size == 1 and part.form is AxisForm.LEAF and self.leaves[part.leaf].fixed


def all_leaves(axes: Iterable[Axis] | None) -> Iterator[int]:
    """Numbers of the leaves in all axes of a tensor; none where the axes are not known."""
    return (leaf for axis in axes or () for leaf in leaves(axis))


def leaves(axis: Axis) -> tuple[int, ...]:
    """Numbers of the leaves in the axis, in order, each once."""
    if axis.form is AxisForm.LEAF:
        return (axis.leaf,)
    numbers: dict[int, None] = {}
    pending = [axis]
    while pending:
        part = pending.pop()
        if part.form is AxisForm.LEAF:
            numbers[part.leaf] = None
        pending.extend(reversed(part.parts))
    return tuple(numbers)


def axis_text(axis: Axis) -> str:
    """Axis for a person: `64`, `[8 + 8]`, `12 = 4 x 3`, `?` where symbolic."""
    if axis.size is None:
        return "?"
    if axis.form is AxisForm.LEAF:
        return str(axis.size)
    inner = _terms(axis)
    return inner if axis.form is AxisForm.CONCAT else f"{axis.size} = {inner}"


def _terms(axis: Axis) -> str:
    if axis.form is AxisForm.LEAF:
        return str(axis.size)
    if axis.form is AxisForm.CONCAT:
        return "[" + " + ".join(_terms(part) for part in axis.parts) + "]"
    return " x ".join(_terms(part) for part in axis.parts)


def resized(axis: Axis, sizes: Mapping[int, int]) -> Size:
    """Size of the axis when each leaf named in `sizes` has that size and every other keeps its own.

    Arrays that can be broadcast stand for many sizes; then the answer is one.
    """
    if axis.form is AxisForm.LEAF:
        return sizes.get(axis.leaf, axis.size)
    total = 0 if axis.form is AxisForm.CONCAT else 1
    for part in axis.parts:
        size = resized(part, sizes)
        if size is None:
            return None
        total = total + size if axis.form is AxisForm.CONCAT else total * size
    return total


def placement(axis: Axis, kept: Mapping[int, Sequence[int | None]]) -> tuple[int | None, ...]:
    """Where the elements of a resized axis come from: for each new index the old one, or None for a new element.

    `kept` gives, for each leaf to resize, the old lane that each new lane holds, or None for a new lane:
    `(0, 1, 2, None)` pads three lanes to four, `(0, 2)` removes lane 1. Other leaves keep all their lanes.
    Raises ValueError where a size is symbolic.
    """
    if axis.size is None:
        raise ValueError("the axis has a symbolic size, so its indices are not known")
    if axis.form is AxisForm.LEAF:
        return tuple(kept.get(axis.leaf, range(axis.size)))
    origins = [placement(part, kept) for part in axis.parts]
    if axis.form is AxisForm.CONCAT:
        starts = [0, *accumulate(part.size or 0 for part in axis.parts)]
        return tuple(
            None if old is None else start + old
            for start, origin in zip(starts, origins, strict=False)
            for old in origin
        )
    grid: list[int | None] = [0]
    for part, origin in zip(axis.parts, origins, strict=True):
        size = part.size or 0
        grid = [None if old is None or inner is None else old * size + inner for old in grid for inner in origin]
    return tuple(grid)
