"""Dimension variables: union-find nodes with a size and, where an axis has structure, a binding to its parts.

A leaf is a size that can change on its own; leaves that were unified are one class. `Concat` binds an axis to the
elements of its parts in order, `Product` to the cells of a grid, outermost factor first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size

MAX_PARTS = 512
"""Leaves one axis may hold; a longer one is locked instead of followed, to keep the analysis linear."""
MAX_LANES = 2**20
"""Lanes of a class that are looked at one by one; a larger class is locked."""


class Lock(NamedTuple):
    """Why a dimension may not change."""

    node: str
    """Label of the node that locks it, empty for the model's interface."""
    reason: str
    """One clause a person can read."""

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}" if self.node else self.reason


class Binding:
    """Structure of an axis in terms of other dimensions."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Dimension, ...]) -> None:
        self.parts = parts


class Concat(Binding):
    """Elements of the parts, one part after the other."""

    __slots__ = ()


class Product(Binding):
    """Cells of a grid whose sides are the parts, outermost first."""

    __slots__ = ()


class Dimension:
    """One axis of a tensor, or a piece of one."""

    __slots__ = ("binding", "fixed", "inner", "parent", "rank", "size", "width")

    def __init__(self, size: Size, *, fixed: bool = False) -> None:
        self.size = size
        self.parent: Dimension | None = None
        self.rank = 0
        self.binding: Binding | None = None
        self.fixed = fixed
        """Pinned as far as is known yet; the locks themselves are kept by `Variables`."""
        self.inner = False
        """Part of some binding, so that binding it needs the occurs check."""
        self.width = 1
        """Leaves it had when it was bound."""


def find(dimension: Dimension) -> Dimension:
    """Representative of the dimension, with path halving."""
    while dimension.parent is not None:
        if dimension.parent.parent is not None:
            dimension.parent = dimension.parent.parent
        dimension = dimension.parent
    return dimension


def size_of(dimension: Dimension) -> Size:
    """Size of a dimension, worked out from the parts where they became known after the binding."""
    root = find(dimension)
    if root.size is None and root.binding is not None:
        root.size = combined(root.binding, [find(part).size for part in root.binding.parts])
    return root.size


def combined(binding: Binding, sizes: Sequence[Size]) -> Size:
    """Size of a binding from the sizes of its parts; None where one of them is symbolic."""
    total = 0 if isinstance(binding, Concat) else 1
    for size in sizes:
        if size is None:
            return None
        total = total + size if isinstance(binding, Concat) else total * size
    return total


def contains(structure: Dimension, leaf: Dimension) -> bool:
    """Tell whether the leaf is among the parts of the structure, at any depth."""
    seen: set[int] = set()
    pending = [structure]
    while pending:
        root = find(pending.pop())
        if root is leaf:
            return True
        if root.binding is not None and id(root) not in seen:
            seen.add(id(root))
            pending.extend(root.binding.parts)
    return False


def leaves_of(structure: Dimension) -> list[Dimension]:
    """Leaves of a structure, each once."""
    leaves: dict[Dimension, None] = {}
    seen: set[Dimension] = set()
    pending = [structure]
    while pending:
        root = find(pending.pop())
        if root.binding is None:
            leaves[root] = None
        elif root not in seen:
            seen.add(root)
            pending.extend(reversed(root.binding.parts))
    return list(leaves)


class Variables:
    """All dimensions of one analysis, with the pins put on them so far."""

    def __init__(self) -> None:
        self.pins: list[tuple[Dimension, Lock]] = []

    def concat(self, parts: Iterable[Dimension], label: str) -> Dimension:
        """Dimension that holds the parts in order; zero-sized ones are left out."""
        kept = tuple(part for part in parts if size_of(part) != 0)
        return self._bound(Concat(kept), label)

    def product(self, factors: Iterable[Dimension], label: str) -> Dimension:
        """Dimension that runs over the grid of the factors, outermost first."""
        return self._bound(Product(tuple(factors)), label)

    def _bound(self, binding: Binding, label: str) -> Dimension:
        if len(binding.parts) == 1:
            return find(binding.parts[0])
        dimension = Dimension(combined(binding, [size_of(part) for part in binding.parts]))
        dimension.width = sum(find(part).width for part in binding.parts)
        if not binding.parts:
            self.pin(dimension, label, "no axis decides this size")
        elif dimension.width > MAX_PARTS:
            for opaque in (dimension, *binding.parts):
                self.pin(opaque, label, f"more than {MAX_PARTS} parts meet in one axis")
        else:
            dimension.binding = binding
        for part in binding.parts:
            find(part).inner = True
        return dimension

    def pin(self, dimension: Dimension, label: str, reason: str) -> None:
        """Lock every leaf that the dimension has at the end of the analysis."""
        root = find(dimension)
        root.fixed = True
        self.pins.append((root, Lock(label, reason)))

    def join(self, child: Dimension, root: Dimension) -> None:
        """Make one leaf or matched structure stand for another; the root's binding stays."""
        if child.binding is None and root.binding is None and child.rank > root.rank:
            child, root = root, child
        child.parent = root
        root.rank = max(root.rank, child.rank + 1)
        root.size = child.size if root.size is None else root.size
        root.fixed = root.fixed or child.fixed
        root.inner = root.inner or child.inner
        root.width = max(root.width, child.width)
