"""Which piece of a tensor the results of Split and Gather are, where constants say so."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import Graph, Node


class Piece(NamedTuple):
    """Elements of one axis, one behind the other."""

    axis: int
    """The axis, from 0 on."""
    start: int
    """First element."""
    end: int
    """Element behind the last."""

    @property
    def indices(self) -> str:
        """As PyTorch writes it: `[:, 8:16]`."""
        return f"[{':, ' * self.axis}{self.start or ''}:{self.end}]"


def pieces(graph: Graph, node: Node) -> tuple[Piece, ...]:
    """What each result of a Split takes, or a Gather of one constant index; none where a size or index is not known."""
    shape = graph.shape(node.inputs[0])
    if not shape:
        return ()
    axis = node.int("axis") % len(shape)
    if canonical(node) == "Split":
        sizes = [(graph.shape(name) or shape)[axis] for name in node.outputs]
        if not all(node.outputs) or None in sizes or sum(size or 0 for size in sizes) != shape[axis]:
            return ()
        return tuple(Piece(axis, *ends) for ends in pairwise(accumulate((size or 0 for size in sizes), initial=0)))
    given, size = graph.constants.get(node.inputs[1]) if node.has(1) else None, shape[axis]
    if canonical(node) != "Gather" or given is None or given.overridable or prod(given.shape) != 1 or not size:
        return ()
    (index,) = given.integers() or (size,)
    return (Piece(axis, index % size, index % size + 1),) if -size <= index < size else ()
