"""Which elements inside a model and inside its fixed form are equal, through a chain of plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.analysis.constants import bias_slot
from onnxlint_cmsis.formats.derived_values import derived_values
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.axes import leaves, placement
from onnxlint_cmsis.operators.answers import Elements

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.plan import Plan, PlanStep
    from onnxlint_cmsis.fixers.proof.proven import Array
    from onnxlint_cmsis.model.graph import Graph


Order = tuple[int | None, ...]
"""For each index of an axis after a plan the index before, None for a new lane."""
Mask = npt.NDArray[np.bool_]
QUANTIZING = (Elements.MEASURED, Elements.QUANTIZED)
"""Elements of operators that turn real numbers into integers."""


class Held(NamedTuple):
    """Elements of one tensor that two models have in common."""

    orders: tuple[Order | None, ...] = ()
    """One for each axis, None where it stays as it is; empty where all do, whatever the rank."""
    read: Mask | None = None
    """Elements after the plans that count for some output, with length 1 where nothing differs; None for all."""


ElementMap = Mapping[str, Held]
"""Tensors of the main graph that hold the same in both models, but for lanes that one of them does not have."""


def element_map(graph: Graph, steps: Sequence[PlanStep]) -> dict[str, Held]:
    """Inner tensors that all plans preserve; `graph` is the model before the first plan.

    In a quantized model these are integers alone: a fused kernel never computes the floats between them. Left out are:
    sums whose bias is in another node, since that bias absorbed constants; symbolic axes that a plan changes; numbers
    of channels, and what follows from them; tensors that no output depends on, since a plan may remove their inputs.
    """
    same = dict.fromkeys(_computed(graph), Held())
    for step in steps:
        shifted = _shifted(step.graph, step.plan)
        later = {name: _after(step, name, held) for name, held in same.items() if name not in shifted}
        same = {name: held for name, held in later.items() if held is not None}
    return same


def aligned(old: Array, new: Array, held: Held) -> tuple[Array, Array] | None:
    """Common elements that count, in the order of the second; None where shapes do not fit."""
    read = held.read
    for axis, order in enumerate(held.orders):
        if order is None:
            continue
        kept = [after for after, before in enumerate(order) if before is not None]
        before = [index for index in order if index is not None]
        if axis >= new.ndim or new.shape[axis] != len(order) or max(before, default=-1) >= old.shape[axis]:
            return None
        old, new = np.take(old, before, axis), np.take(new, kept, axis)
        read = _taken(read, axis, kept)
    if old.shape != new.shape:
        return None
    if read is None or read.all():
        return old, new
    read = np.broadcast_to(read, old.shape)
    return old[read], new[read]


def _computed(graph: Graph) -> Iterator[str]:
    """Tensors of the main graph that depend on the values of run-time inputs, without its outputs."""
    known = derived_values(graph, sizes=True).union(graph.constants, graph.outputs, ("",))
    integers = any(operator_of(node).elements in QUANTIZING for node in graph.nodes)
    for node in graph.nodes:
        for name in () if node.graph else node.outputs:
            if name not in known and not (integers and graph.elem_type(name).startswith(("float", "bfloat"))):
                yield name


def _shifted(graph: Graph, plan: Plan) -> set[str]:
    """Sums without the constants that the bias in the next node took up."""
    shifted: set[str] = set()
    for index in plan.increments:
        slot = bias_slot(graph, graph.nodes[index])
        if slot is None or slot.node != index:
            shifted.update(graph.nodes[index].outputs)
    return shifted


def _after(step: PlanStep, name: str, held: Held) -> Held | None:
    """Common elements after one more plan; None where there are none or they are unknown."""
    plan = step.plan
    if plan.read is not None and name not in plan.read:
        return None
    read = held.read
    if plan.read is not None:
        read = plan.read[name] if read is None else read & plan.read[name]
    axes = step.dimensions.axes(name) or ()
    changed = [any(leaf in plan.kept for leaf in leaves(axis)) for axis in axes]
    if not any(changed):
        return Held(held.orders, read)
    if any(axis.size is None for axis, change in zip(axes, changed, strict=True) if change):
        return None
    then = [placement(axis, plan.kept) if change else None for axis, change in zip(axes, changed, strict=True)]
    for axis, order in enumerate(then):
        read = read if order is None else _taken(read, axis, [index or 0 for index in order])
    orders = held.orders or (None,) * len(axes)
    return Held(tuple(_composed(before, later) for before, later in zip(orders, then, strict=True)), read)


def _composed(first: Order | None, then: Order | None) -> Order | None:
    """Two orders, the second after the first."""
    if first is None or then is None:
        return then if first is None else first
    return tuple(None if index is None else first[index] for index in then)


def _taken(read: Mask | None, axis: int, places: Sequence[int]) -> Mask | None:
    """A mask with other indices along an axis where it varies."""
    return np.take(read, places, axis) if read is not None and read.shape[axis:] and read.shape[axis] > 1 else read
