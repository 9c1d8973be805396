"""Unification of dimensions: join leaves, match structures part by part, refine factors where possible."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.model.variables import MAX_PARTS, Concat, Dimension, Product, Variables, contains, find, size_of

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
