"""Dimension variables: union-find nodes with a size and, where an axis has structure, a binding to its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size

# A leaf is a size that can change on its own; leaves that were unified are one class. `Concat` binds an axis to the
# elements of its parts in order, `Product` to the cells of a grid, outermost factor first.


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
    """Whether the leaf is among the parts of the structure, at any depth."""
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


# Unification of dimensions: join leaves, match structures part by part, refine factors where possible.


ONE = "an axis of size 1 that is inserted or dropped on the way"

Pair = tuple[Dimension, Dimension]


def unify(variables: Variables, first: Dimension, second: Dimension, label: str) -> None:
    """Make two dimensions one.

    Where their sizes disagree or their structures do not nest, both are locked, `label` being the node that
    brought them together.
    """
    pending = [(first, second)]
    while pending:
        left, right = (find(side) for side in pending.pop())
        if left is not right:
            pending.extend(_step(variables, left, right, label))


def _step(variables: Variables, left: Dimension, right: Dimension, label: str) -> list[Pair]:
    """Join two different roots; returns the pairs that have to be equal for it."""
    sizes = size_of(left), size_of(right)
    if None not in sizes and sizes[0] != sizes[1]:
        _lock(variables, (left, right), label, f"sizes {sizes[0]} and {sizes[1]} disagree")
        return []
    for leaf, other in ((left, right), (right, left)):
        if leaf.binding is None and not (leaf.inner and other.binding is not None and contains(other, leaf)):
            variables.join(leaf, other)
            return []
    pairs = _match(variables, left, right, label)
    if pairs is None:
        _lock(variables, (left, right), label, "segments meet that do not line up")
        return []
    if left.binding is not None and right.binding is not None:
        nested = left.inner and contains(right, left)
        variables.join(*((right, left) if nested else (left, right)))
    return pairs


def _lock(variables: Variables, dimensions: Sequence[Dimension], label: str, reason: str) -> None:
    for dimension in dimensions:
        variables.pin(dimension, label, reason)


def _match(variables: Variables, left: Dimension, right: Dimension, label: str) -> list[Pair] | None:
    factors = _factors(left), _factors(right)
    simple = factors[0][0], factors[1][0]
    if all(len(side) == 1 for side in factors) and simple != (left, right):
        return [simple]
    if any(isinstance(side.binding, Concat) for side in (left, right)):
        return _match_parts(variables, left, right, label)
    return align(variables, factors[0], factors[1], label)


def _factors(dimension: Dimension) -> list[Dimension]:
    """Factors of a product, nested ones laid flat, without the fixed ones of size 1; never empty."""
    flat: list[Dimension] = []
    pending = [dimension]
    while pending and len(flat) <= MAX_PARTS:
        root = find(pending.pop())
        if isinstance(root.binding, Product):
            pending.extend(reversed(root.binding.parts))
        elif not (root.fixed and size_of(root) == 1):
            flat.append(root)
    return flat if flat and not pending else [find(dimension)]


def _match_parts(variables: Variables, left: Dimension, right: Dimension, label: str) -> list[Pair] | None:
    """Pairs of segments of two concatenations, splitting leaves at each other's boundaries."""
    pairs: list[Pair] = []
    sides = [left], [right]
    while sides[0] and sides[1] and len(pairs) <= MAX_PARTS:
        head = tuple(_next_atom(variables, side, label) for side in sides)
        sizes = tuple(size_of(atom) for atom in head)
        if head[0] is head[1]:
            continue
        if sizes[0] is None or sizes[1] is None:
            if sides[0] or sides[1]:
                return None
        elif sizes[0] != sizes[1]:
            longer = 0 if sizes[0] > sizes[1] else 1
            halves = _split(variables, head[longer], min(sizes[0], sizes[1]), label)
            if halves is None:
                return None
            sides[longer].append(halves[1])
            head = (halves[0], head[1]) if longer == 0 else (head[0], halves[0])
        pairs.append((head[0], head[1]))
    return None if sides[0] or sides[1] else pairs


def _next_atom(variables: Variables, stack: list[Dimension], label: str) -> Dimension:
    """Take the next segment off a stack: a leaf, or a product whose outermost factor is one."""
    while True:
        root = find(stack.pop())
        if isinstance(root.binding, Concat):
            stack.extend(reversed(root.binding.parts))
            continue
        factors = _factors(root)
        if len(factors) == 1 and factors[0] is not root:
            stack.append(factors[0])
            continue
        outer = find(factors[0]).binding
        if len(factors) > 1 and isinstance(outer, Concat):
            stack.extend(variables.product((part, *factors[1:]), label) for part in reversed(outer.parts))
            continue
        return root


def _split(variables: Variables, atom: Dimension, size: int, label: str) -> Pair | None:
    """Cut a segment after `size` elements; None where its outermost factor cannot be cut there."""
    factors = _factors(atom)
    leaf, inner = find(factors[0]), factors[1:]
    block = size_of(variables.product(inner, label)) if inner else 1
    total = size_of(leaf)
    if not block or total is None or size % block or leaf.binding is not None:
        return None
    halves = Dimension(size // block), Dimension(total - size // block)
    for half in halves:
        half.fixed = leaf.fixed
    leaf.binding = Concat(halves)
    for half in halves:
        half.inner = True
        if inner and half.size == 1:
            variables.pin(half, label, "one block of several")
    first, second = ([half, *inner] if half.size != 1 or not inner else inner for half in halves)
    return variables.product(first, label), variables.product(second, label)


def align(variables: Variables, left: Sequence[Dimension], right: Sequence[Dimension], label: str) -> list[Pair]:
    """Pairs that make two grids of equal size one; parts that do not nest are locked.

    Equal sizes at either end have to be the same factor; a factor that the other side's divides is refined.
    """
    sides = [find(factor) for factor in left], [find(factor) for factor in right]
    pairs: list[Pair] = []
    while sides[0] and sides[1]:
        if not any(_take(variables, sides, end, pairs, label) for end in (-1, 0)) and not any(
            _refine(variables, sides, end, pairs, label) for end in (0, -1)
        ):
            break
    takes_whole = any(  # a side that is a single leaf outside the other takes its structure
        len(side) == 1 and side[0].binding is None and not any(contains(factor, side[0]) for factor in other)
        for side, other in (sides, sides[::-1])
    )
    if sides[0] and sides[1] and takes_whole:
        return [*pairs, (variables.product(sides[0], label), variables.product(sides[1], label))]
    for factor in (*sides[0], *sides[1]):
        variables.pin(factor, label, ONE if size_of(factor) == 1 else "axes meet that do not nest")
    return pairs


def _take(
    variables: Variables, sides: tuple[list[Dimension], list[Dimension]], end: int, pairs: list[Pair], label: str
) -> bool:
    """Pair the factors at one end where they are equal, or drop one of size 1."""
    left, right = sides[0][end], sides[1][end]
    sizes = size_of(left), size_of(right)
    if left is right or (sizes[0] is not None and sizes[0] == sizes[1]):
        pairs.append((left, right))
        sides[0].pop(end)
        sides[1].pop(end)
        return True
    for side, factor, size in ((sides[0], left, sizes[0]), (sides[1], right, sizes[1])):
        if size == 1:
            variables.pin(factor, label, ONE)
            side.pop(end)
            return True
    return False


def _refine(
    variables: Variables, sides: tuple[list[Dimension], list[Dimension]], end: int, pairs: list[Pair], label: str
) -> bool:
    """Write the larger factor at one end as a product of the smaller one and the rest."""
    sizes = size_of(sides[0][end]), size_of(sides[1][end])
    if not sizes[0] or not sizes[1]:
        return False
    larger = 0 if sizes[0] > sizes[1] else 1
    big, small = sides[larger][end], sides[1 - larger][end]
    quotient, remainder = divmod(max(sizes[0], sizes[1]), min(sizes[0], sizes[1]))
    if remainder:
        return False
    rest = Dimension(quotient)
    rest.fixed = big.fixed
    pairs.append((big, variables.product((small, rest) if end == 0 else (rest, small), label)))
    sides[1 - larger].pop(end)
    sides[larger][end] = rest
    return True
