"""How often the body of a loop runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.model.graph import Body, Graph, Node

LOOPS = ("Loop", "Scan", "WHILE")
"""Operators that run a body again and again."""


AXES_SINCE = 9
"""First opset in which Scan has no batch in front."""


def turns_of(graph: Graph) -> dict[str, int | None]:
    """How often the nodes of each loop's subgraphs run in a run of the model, by path; None where that is not known.

    A subgraph within that of a loop has its own entry; `turns_at` finds that of a node.
    """
    turns: dict[str, int | None] = {}
    for holder in graph.nodes:
        kind = canonical(holder)
        if kind not in LOOPS or not holder.bodies:
            continue
        first = _turns(graph, holder, kind)
        for body in holder.bodies:
            checked = body.attribute == "cond_subgraph"  # once more, to find that the loop ends
            number = None if first is None or body.path in turns else first + checked
            turns[body.path] = product_of(number, turns_at(turns, holder.graph))
    return turns


def turns_at(turns: Mapping[str, int | None], path: str) -> int | None:
    """How often a node in the subgraph of a path runs: once where no loop holds it."""
    while path:
        if path in turns:
            return turns[path]
        path = path.rpartition("/")[0]
    return 1


def _turns(graph: Graph, holder: Node, kind: str) -> int | None:
    body = holder.bodies[-1]
    if kind == "WHILE":
        return _counted(graph, holder, holder.bodies[0].outputs, body)
    if kind == "Scan":
        count = max(min(holder.int("num_scan_inputs"), len(holder.inputs)), 0)
        axes = holder.ints("scan_input_axes", (0,) * count)
        shapes = [graph.shape(name) for name in holder.inputs[len(holder.inputs) - count :]]
        if holder.opset < AXES_SINCE or len(axes) != len(shapes):
            return None
        sizes = [
            shape[axis] for shape, axis in zip(shapes, axes, strict=True) if shape and -len(shape) <= axis < len(shape)
        ]
        return next((size for size in sizes if size is not None), None)
    goes_on = body.outputs[0] if body.outputs else ""
    for _ in graph.nodes:  # a damaged file may go in circles
        node = graph.producers.get(goes_on)
        if node is None or canonical(node) != "Identity":
            break
        goes_on = node.inputs[0]
    kept = len(body.inputs) > 1 and goes_on == body.inputs[1]
    begins = not holder.inputs[1] or _number(graph, holder.inputs[1]) == 1
    endless = begins if kept else begins and _number(graph, goes_on) == 1
    turns = _number(graph, holder.inputs[0])
    return max(turns, 0) if endless and turns is not None else None


def _counted(graph: Graph, holder: Node, conditions: Sequence[str], body: Body) -> int | None:
    """Turns of a WHILE that counts: it goes on while numbers, to which each turn adds a constant, are below others."""
    turns: list[int] = []
    pending, seen = list(conditions), set[str]()
    while pending:
        name = pending.pop()
        node = graph.producers.get(name)
        if node is None or len(node.inputs) < 2 or name in seen:
            return None
        seen.add(name)
        if canonical(node) == "And":
            pending += node.inputs
            continue
        counter, end = node.inputs[0], _number(graph, node.inputs[1])
        formal = holder.bodies[0].inputs
        if canonical(node) != "Less" or end is None or counter not in formal:
            return None
        position = formal.index(counter)
        if position >= min(len(holder.inputs), len(body.inputs), len(body.outputs)):
            return None
        step = graph.producers.get(body.outputs[position])
        begin = _number(graph, holder.inputs[position])
        if step is None or canonical(step) != "Add" or body.inputs[position] not in step.inputs or begin is None:
            return None
        others = [name for name in step.inputs if name != body.inputs[position]]
        added = _number(graph, others[0]) if len(others) == 1 else None
        if added is None or added <= 0:
            return None
        turns.append(max(-((begin - end) // added), 0))
    return min(turns, default=None)


def _number(graph: Graph, tensor: str) -> int | None:
    """The one integer that a constant holds; None for anything else."""
    stored = graph.constants.get(tensor)
    values = stored.integers() if stored is not None and not stored.overridable else None
    return values[0] if values is not None and len(values) == 1 else None
