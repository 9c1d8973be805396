"""Carrying what new lanes hold from the layers to the operators that may make NaN or infinity of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from onnxlint_cmsis.algebra.context import Context
from onnxlint_cmsis.dims.new_lanes.interval import ANY, Interval, NotFiniteError, as_stored, text
from onnxlint_cmsis.dims.new_lanes.lanes import NewLanes
from onnxlint_cmsis.dims.new_lanes.layers import LAYERS
from onnxlint_cmsis.dims.new_lanes.operators import ROWS
from onnxlint_cmsis.graph.model import Graph, Node


def lock_new_lanes(context: Context, risks: Iterable[Node]) -> None:
    """Lock every class whose new lanes would not be certain to stay finite.

    `risks` are the operators that may make NaN or infinity of a finite number; values are carried between the layers
    around them. What fills new elements of constants is what `fills` says; data that layers read are taken as finite.
    Dimensions that are pinned already have to be marked so.
    """
    lanes = NewLanes(context)
    nodes = context.graph.nodes
    for index in sorted(_region(context.graph, lanes, risks)):
        _carry(nodes[index], lanes)


def _region(graph: Graph, lanes: NewLanes, risks: Iterable[Node]) -> set[int]:
    """Nodes between the layers before and after, with what computes the layers' constants."""
    after = _reached([node.index for node in risks], lambda node: _readers(graph, node), graph)
    return _reached(after, lambda node: _makers(graph, lanes, node), graph)


def _reached(start: Iterable[int], around: Callable[[Node], Iterator[Node]], graph: Graph) -> set[int]:
    pending = list(start)
    found = set(pending)
    while pending:
        for node in around(graph.nodes[pending.pop()]):
            if node.index not in found:
                found.add(node.index)
                pending.append(node.index)
    return found


def _readers(graph: Graph, node: Node) -> Iterator[Node]:
    """Nodes that read a node's results, but for layers, which start anew."""
    for name in node.outputs:
        yield from (reader for reader in graph.consumers.get(name, ()) if not _is_layer(reader))


def _makers(graph: Graph, lanes: NewLanes, node: Node) -> Iterator[Node]:
    """Nodes that make a node's operands; those of a layer only if they are constant."""
    for name in node.inputs:
        maker = graph.producers.get(name)
        if maker is not None and (not _is_layer(node) or lanes.constants.constant(name)):
            yield maker


def _is_layer(node: Node) -> bool:
    return (node.domain, node.op_type) in LAYERS


def _carry(node: Node, lanes: NewLanes) -> None:
    """Note what a node's results hold, or lock what may not grow because of it."""
    row = ROWS.get((node.domain, node.op_type))
    if row is None or not all(lanes.has(0) and name for name in node.outputs[:1]):
        return
    lanes.enter(node)
    wanted = lanes.wanted
    if lanes.constants.constant(node.outputs[0]):
        lanes.wanted = frozenset()
        with suppress(NotFiniteError):
            lanes.old[node.outputs[0]] = as_stored(row(node, lanes), lanes.made)
        lanes.wanted = wanted
    if not wanted:
        return
    try:
        made = as_stored(row(node, lanes), lanes.made)
    except NotFiniteError as problem:
        _lock(lanes, _reason(problem, lanes))
        return
    _note(node, lanes, made)


def _note(node: Node, lanes: NewLanes, made: Interval) -> None:
    """Split gives all outputs their share, others put something else into the second."""
    for name in node.outputs if node.op_type == "Split" else node.outputs[:1]:
        if name:
            lanes.found[name] = made


def _reason(problem: NotFiniteError, lanes: NewLanes) -> str:
    """`Reciprocal of a new lane, which holds 0, is infinite`."""
    name, held = lanes.node.op_type, problem.held
    if held is None:
        try:
            held = lanes.value(0)
        except NotFiniteError:
            held = ANY
    if not problem.divides:
        return f"{name} of a new lane, {text(held)}, {problem.outcome}"
    divisor = "by a new lane" if lanes.is_new(1) else "of a new lane by a divisor"
    return f"{name} {divisor}, {text(held)}, {problem.outcome}"


def _lock(lanes: NewLanes, reason: str) -> None:
    """Lock the axes along which the node's results may grow."""
    for name in filter(None, lanes.node.outputs):
        for axis in lanes.context.axes_of(name) or ():
            if leaves := lanes.growing([axis]):
                lanes.context.pin(axis, reason)
                for leaf in leaves:
                    leaf.fixed = True
