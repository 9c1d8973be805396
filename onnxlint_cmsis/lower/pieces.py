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
        if node.has(1) and not _is_fixed(graph, node.inputs[1]):
            return ()
        if not all(node.outputs) or None in sizes or sum(size or 0 for size in sizes) != shape[axis]:
            return ()
        return tuple(Piece(axis, *ends) for ends in pairwise(accumulate((size or 0 for size in sizes), initial=0)))
    size = shape[axis]
    if canonical(node) != "Gather" or not node.has(1) or not _is_fixed(graph, node.inputs[1]) or not size:
        return ()
    given = graph.constants[node.inputs[1]]
    (index,) = (given.integers() if prod(given.shape) == 1 else None) or (size,)
    return (Piece(axis, index % size, index % size + 1),) if -size <= index < size else ()


def _is_fixed(graph: Graph, tensor: str) -> bool:
    """Tell whether a tensor is a constant that no caller may replace."""
    constant = graph.constants.get(tensor)
    return constant is not None and not constant.overridable
