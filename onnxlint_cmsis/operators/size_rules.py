"""How operators carry a list of sizes."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context, Element
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.variables import Dimension

Sizes = tuple[Element, ...]


def same_sizes(_node: Node, context: Context) -> Sizes | None:
    """The list as it is."""
    return context.values(0)


def gathered_sizes(_node: Node, context: Context) -> Sizes | None:
    """The sizes that constant indices pick."""
    data, indices = context.values(0), context.ints(1)
    if data is None or indices is None or any(not -len(data) <= index < len(data) for index in indices):
        return None
    return tuple(data[index] for index in indices)


def joined_sizes(node: Node, context: Context) -> Sizes | None:
    """Several lists, one after the other."""
    parts = [context.values(position) for position in range(len(node.inputs))]
    return None if None in parts else tuple(element for part in parts for element in part or ())


def sliced_sizes(_node: Node, context: Context) -> Sizes | None:
    """A piece of the list between constant limits."""
    data = context.values(0)
    starts, ends = context.stated("starts"), context.stated("ends")
    steps = context.ints(4) if context.has(4) else (1,)
    if data is None or not starts or not ends or not steps:
        return None
    return data[starts[0] : ends[0] : steps[0]]


def multiplied_sizes(_node: Node, context: Context) -> Sizes | None:
    """Two sizes multiplied are the size of their grid."""
    first, second = context.values(0), context.values(1)
    if first is None or second is None or len(first) != 1 or len(second) != 1:
        return None
    if not isinstance(first[0], Dimension) or not isinstance(second[0], Dimension):
        return None
    return (context.product((first[0], second[0])),)


def strided_sizes(node: Node, context: Context) -> Sizes | None:
    """TFLite's slice of a list between constant limits, or one element of it."""
    data, starts, ends = context.values(0), context.ints(1), context.ints(2)
    if data is None or starts is None or ends is None or context.ints(3) != (1,) or len(starts) != 1:
        return None
    if node.int("shrink_axis_mask") & 1:
        return data[starts[0] : starts[0] + 1 or None]
    first = None if node.int("begin_mask") & 1 else starts[0]
    return data[first : None if node.int("end_mask") & 1 else ends[0]]
