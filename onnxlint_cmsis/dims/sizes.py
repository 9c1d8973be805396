"""Sizes as data: what Shape, Gather, Concat and the like do to a list of sizes, and who may read one."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.algebra.context import Context, Element
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node

Elements = tuple[Element, ...]


def _same(_node: Node, context: Context) -> Elements | None:
    return context.values(0)


def _gather(_node: Node, context: Context) -> Elements | None:
    data, indices = context.values(0), context.ints(1)
    if data is None or indices is None or any(not -len(data) <= index < len(data) for index in indices):
        return None
    return tuple(data[index] for index in indices)


def _concat(node: Node, context: Context) -> Elements | None:
    parts = [context.values(position) for position in range(len(node.inputs))]
    return None if None in parts else tuple(element for part in parts for element in part or ())


def _slice(_node: Node, context: Context) -> Elements | None:
    data = context.values(0)
    starts, ends = context.ints_of("starts", 1), context.ints_of("ends", 2)
    steps = context.ints(4) if context.has(4) else (1,)
    if data is None or not starts or not ends or not steps:
        return None
    return data[starts[0] : ends[0] : steps[0]]


def _product(_node: Node, context: Context) -> Elements | None:
    """Two sizes multiplied are the size of their grid."""
    first, second = context.values(0), context.values(1)
    if first is None or second is None or len(first) != 1 or len(second) != 1:
        return None
    if not isinstance(first[0], Dimension) or not isinstance(second[0], Dimension):
        return None
    return (context.product((first[0], second[0])),)


FOLLOWED: dict[str, Callable[[Node, Context], Elements | None]] = {
    "Cast": _same,
    "Concat": _concat,
    "Gather": _gather,
    "Identity": _same,
    "Mul": _product,
    "Slice": _slice,
    "Squeeze": _same,
    "Unsqueeze": _same,
}
"""Operators of the default domain through which a list of sizes is followed."""

READ: dict[str, tuple[int, ...]] = {"ConstantOfShape": (0,), "Expand": (1,), "Reshape": (1,), "Resize": (3,)}
"""Inputs whose rule says itself what a size in it means."""


def follow(node: Node, context: Context) -> None:
    """Carry sizes through the node, and lock those that it computes with in a way that is not followed."""
    followed = FOLLOWED[node.op_type](node, context) if node.is_op(*FOLLOWED) else None
    if followed is not None:
        context.elements[node.outputs[0]] = followed
        return
    for position, name in enumerate(node.inputs):
        if name in context.elements and not (node.is_op(*READ) and position in READ[node.op_type]):
            pin_elements(context, name, f"{node.op_type} computes with this size")


def pin_elements(context: Context, name: str, reason: str) -> None:
    """Lock every dimension whose size the tensor holds."""
    for element in context.elements.get(name, ()):
        if isinstance(element, Dimension):
            context.pin(element, reason)
