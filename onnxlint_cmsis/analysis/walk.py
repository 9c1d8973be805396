"""One pass over the nodes, each by its record, which ties axes and follows sizes."""

from __future__ import annotations

from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.tensors import NotFollowedError
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.answers import NotFollowed


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


def walk(graph: Graph) -> Context:
    """Tie, pin and bind every axis of the graph."""
    context = Context(graph, derived_values(graph))
    for name in graph.inputs:
        context.pin_all(context.axes_of(name) or (), f"graph input {name}")
    for name in sorted(graph.variables):
        context.pin_all(context.axes_of(name) or (), f"variable {name} keeps its values from run to run")
    for node in graph.nodes:
        context.enter(node, operator_of(node).roles)
        _apply(node, context)
    context.label = ""
    _pin_uneven_scales(context)
    for name in graph.outputs:
        context.pin_all(context.axes_of(name) or (), f"graph output {name}")
        pin_elements(context, name, f"graph output {name} holds this size")
    for node in graph.nodes:
        for body in node.bodies:
            for name in body.outputs:
                pin_elements(context, name, f"an output of the body of {node.label} holds this size")
    return context


def _apply(node: Node, context: Context) -> None:
    try:
        _tie(node, context)
    except NotFollowedError as reason:
        context.pin_everything(str(reason))
        for name in node.inputs:
            pin_elements(context, name, str(reason))
    follow(node, context)


def _pin_uneven_scales(context: Context) -> None:
    """Lock tensors that keep several scales which do not lie one for each index of an axis."""
    for name, stored in context.graph.quantization.items():
        shape, count = context.graph.shape(name), len(stored.scales)
        if count > 1 and (shape is None or not 0 <= stored.axis < len(shape) or shape[stored.axis] != count):
            reason = f"tensor {name} has {count} scales that do not lie along axis {stored.axis}"
            context.pin_all(context.axes_of(name) or (), reason)


def _tie(node: Node, context: Context) -> None:
    operator = operator_of(node)
    if not operator.known:
        raise NotFollowedError(f"operator {node.op_type} of domain {node.domain or 'ai.onnx'} is not known")
    if not node.outputs:
        raise NotFollowedError(f"{node.op_type} has no outputs")
    if isinstance(operator.axes, NotFollowed):
        raise NotFollowedError(f"axes of {node.op_type} are not followed: {operator.axes.because}")
    operator.axes(node, context)
