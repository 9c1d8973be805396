"""Control flow, recurrence, random numbers, and operators whose output does not come from data."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.folds import fold_constant_of_shape
from onnxlint_cmsis.operators.new_lane import NO_NEW_LANES, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule, replace


def branches(node: Node, context: Context) -> None:
    """If: tie each output to that output of both branches."""
    for body in node.bodies:
        for output, body_output in zip(node.outputs, body.outputs, strict=False):
            axes, inner = context.axes_of(output) if output else None, context.axes_of(body_output)
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
    result = [
        element if isinstance(element, Dimension) else Dimension(element.value if isinstance(element, Number) else None)
        for element in target
    ]
    context.output_as(0, result)
    for position, element in enumerate(target):
        if isinstance(element, Number):
            context.name_input(0, position, [result[position]])
        elif element is None:
            context.pin(result[position], "the shape of ConstantOfShape is computed at run time")


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


NO_DATA = Roles(data=())
DRAWN = NotFollowed("its numbers are drawn anew in every run")


def _source(name: str, axes: TieRule | NotFollowed, elements: Elements, roles: Roles = NO_DATA) -> Operator:
    """Record of an operator that computes nothing from the elements of its inputs itself."""
    new_lane = NO_NEW_LANES if isinstance(axes, NotFollowed) else ZEROS
    return Operator(name, axes, elements, Risk.NONE, Layout.EITHER, roles=roles, new_lane=new_lane)


def _recurrent(name: str) -> Operator:
    roles = Roles(recurrent=(1, 2))
    return Operator(name, recurrent, Elements.COMPUTED, Risk.NONE, Layout.ORDERED, new_lane=ZEROS, roles=roles)


CONSTANT = _source("Constant", constant, Elements.STORED)
CONSTANT_OF_SHAPE = replace(
    _source("ConstantOfShape", constant_of_shape, Elements.REPEATED, Roles(data=(), sizes=(0,))),
    fold=fold_constant_of_shape,
)
IF = _source("If", branches, Elements.BODIES)
SHAPE = _source("Shape", shape, Elements.SIZES)

CONTROL = (
    *(CONSTANT, CONSTANT_OF_SHAPE, IF, SHAPE),
    _source("Loop", crossing, Elements.BODIES),
    _source("Scan", crossing, Elements.BODIES),
    _recurrent("GRU"),
    _recurrent("LSTM"),
    _recurrent("RNN"),
    _source("Size", count, Elements.SIZES),
    _source("Bernoulli", DRAWN, Elements.RANDOM, Roles()),
    _source("Multinomial", DRAWN, Elements.RANDOM, Roles()),
    _source("RandomNormal", DRAWN, Elements.RANDOM),
    _source("RandomNormalLike", DRAWN, Elements.RANDOM),
    _source("RandomUniform", DRAWN, Elements.RANDOM),
    _source("RandomUniformLike", DRAWN, Elements.RANDOM),
)
