"""Tie rules of control flow, recurrence, and operators that make constants or sizes."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Context, Number
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node


def branches(node: Node, context: Context) -> None:
    """If: tie each output to that output of both branches."""
    for body in node.bodies:
        for output, made in zip(node.outputs, body.outputs, strict=False):
            axes, inner = context.axes_of(output) if output else None, context.axes_of(made)
            if axes is not None and inner is not None and len(axes) == len(inner):
                context.tie_all(axes, inner)
            else:
                context.pin_all((*(axes or ()), *(inner or ())), "the ranks of the branches are not known or differ")


def crossing(node: Node, context: Context) -> None:
    """Loop, Scan: lock all inputs and outputs of the body."""
    names = [*node.inputs, *node.outputs]
    for body in node.bodies:
        names += [*body.inputs, *body.outputs]
    for name in dict.fromkeys(filter(None, names)):
        context.pin_all(context.axes_of(name) or (), f"carried through the body of {node.op_type}")


def recurrent(node: Node, context: Context) -> None:
    """LSTM, GRU, RNN: lock all axes, since gates share one."""
    context.pin_everything(f"{node.op_type} keeps its gates and state along this axis")


def constant(_node: Node, _context: Context) -> None:
    """The value is in `Graph.constants`."""


def constant_of_shape(node: Node, context: Context) -> None:
    """A number of the target names an axis of the result."""
    target = context.values(0)
    if target is None:
        axes = context.axes_of(node.outputs[0])
        context.pin_all(axes or (), "the shape of ConstantOfShape is computed at run time")
        return
    made = [
        element if isinstance(element, Dimension) else Dimension(element.value if isinstance(element, Number) else None)
        for element in target
    ]
    result = context.output(0, [context.size(axis) for axis in made])
    context.tie_all(result, made)
    for position, element in enumerate(target):
        if isinstance(element, Number):
            context.name_input(0, position, [made[position]])
        elif element is None:
            context.pin(made[position], "the shape of ConstantOfShape is computed at run time")


def shape(node: Node, context: Context) -> None:
    """Hand on the sizes; an operator that computes with one locks it."""
    axes = context.need(0)
    end = node.int("end", len(axes)) if "end" in node.attributes else len(axes)
    taken = axes[node.int("start", 0) : end]
    context.elements[node.outputs[0]] = taken
    context.pin_all(context.output(0, [len(taken)]), "a list of sizes")


def count(_node: Node, context: Context) -> None:
    """Size counts every element."""
    context.pin_all(context.need(0), "Size counts the elements")
