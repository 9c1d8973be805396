"""Sizes as data: how a list of sizes travels through the nodes, and who may read one."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Context
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.facets import NotFollowed
from onnxlint_cmsis.operators.registry import operator_of


def follow(node: Node, context: Context) -> None:
    """Carry sizes through the node, and lock those that it computes with in a way that is not followed."""
    operator = operator_of(node)
    followed = None if isinstance(operator.sizes, NotFollowed) else operator.sizes(node, context)
    if followed is not None and node.outputs:
        context.elements[node.outputs[0]] = followed
        return
    for position, name in enumerate(node.inputs):
        if name in context.elements and position not in operator.roles.sizes:
            pin_elements(context, name, f"{node.op_type} computes with this size")


def pin_elements(context: Context, name: str, reason: str) -> None:
    """Lock every dimension whose size the tensor holds."""
    for element in context.elements.get(name, ()):
        if isinstance(element, Dimension):
            context.pin(element, reason)
