"""The values of new lanes, from the layers to operators that may make NaN or infinity of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from onnxlint_cmsis.analysis.new_lane_view import NewLaneView
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.element_ranges import as_stored, range_of
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.interval_axes import level
from onnxlint_cmsis.model.intervals import Fault, Interval, interval_text
from onnxlint_cmsis.operators.moves import moved_input


def lock_new_lanes(context: Context, risks: Iterable[Node]) -> None:
    """Lock every class with new lanes that may not stay finite.

    `risks` are the operators that may make NaN or infinity of a finite number; values are carried between the layers
    around them. `fill` gives the new elements of constants; data that layers read counts as finite.
    Dimensions that are pinned already have to be marked so.
    """
    graph, view = context.graph, NewLaneView(context)
    with np.errstate(all="ignore"):
        after = _reached([node.index for node in risks], lambda node: _readers(graph, node), graph)
        for index in sorted(_reached(after, lambda node: _makers(graph, view, node), graph)):
            _carry(graph.nodes[index], view)


def _reached(start: Iterable[int], around: Callable[[Node], Iterator[Node]], graph: Graph) -> set[int]:
    pending = list(start)
    reached = set(pending)
    while pending:
        for node in around(graph.nodes[pending.pop()]):
            if node.index not in reached:
                reached.add(node.index)
                pending.append(node.index)
    return reached


def _readers(graph: Graph, node: Node) -> Iterator[Node]:
    """Nodes that read a node's results, but for layers, which start anew."""
    for name in node.outputs:
        yield from (reader for reader in graph.consumers.get(name, ()) if not _is_layer(reader))


def _makers(graph: Graph, view: NewLaneView, node: Node) -> Iterator[Node]:
    """Nodes that make a node's operands; those of a layer only if they are constant."""
    for name in node.inputs:
        maker = graph.producers.get(name)
        if maker is not None and (not _is_layer(node) or view.constants.constant(name)):
            yield maker


def _is_layer(node: Node) -> bool:
    return operator_of(node).roles.form is not None


def _carry(node: Node, view: NewLaneView) -> None:
    """Note the values of a node's results, or lock the classes that may not grow."""
    operator = operator_of(node)
    followed = operator.movement is not None or callable(operator.values)
    if not followed or not node.has(0) or not node.outputs or not node.outputs[0]:
        return
    view.enter(node)
    if view.constants.constant(node.outputs[0]):
        wanted, view.wanted = view.wanted, frozenset()
        held = _new_elements(node, view)
        if held.fault is None:
            view.old[node.outputs[0]] = held
        view.wanted = wanted
    if not view.wanted:
        return
    held = _new_elements(node, view)
    if held.fault is not None:
        _lock(node, view, _reason(node, view, held.fault))
        return
    for name in node.outputs if operator.movement is not None else node.outputs[:1]:
        if name:
            view.new[name] = held


def _new_elements(node: Node, view: NewLaneView) -> Interval:
    """What the new elements of a node's first output hold together, as its type holds it."""
    operator, elem_type = operator_of(node), view.made_type(node)
    held = None
    if operator.movement is not None:
        held = view.input(node, moved_input(node, view))
    elif callable(operator.values):
        try:
            held = operator.values(node, view)
        except (ValueError, IndexError):  # shapes that contradict each other, of which nothing follows
            held = None
    if held is None or not held.low.size:
        return range_of(elem_type)
    whole = level(held, range(held.low.ndim)).moved(lambda array: array.reshape(()))
    stored = as_stored(whole, elem_type)
    return stored.flawed(np.isnan(stored.low), Fault("may be NaN or infinite"))


def _reason(node: Node, view: NewLaneView, fault: Fault) -> str:
    """`Reciprocal of a new lane, which holds 0, is infinite`."""
    name, held = node.op_type, fault.held if fault.held is not None else view.input(node, 0)
    if held is None:
        held = range_of("float32")
    if not fault.divides:
        return f"{name} of a new lane, {interval_text(held)}, {fault.outcome}"
    divisor = "by a new lane" if view.is_new(node, 1) else "of a new lane by a divisor"
    return f"{name} {divisor}, {interval_text(held)}, {fault.outcome}"


def _lock(node: Node, view: NewLaneView, reason: str) -> None:
    """Lock the axes along which the node's results may grow."""
    for name in filter(None, node.outputs):
        for axis in view.context.axes_of(name) or ():
            if leaves := view.growing([axis]):
                view.context.pin(axis, reason)
                for leaf in leaves:
                    leaf.fixed = True
