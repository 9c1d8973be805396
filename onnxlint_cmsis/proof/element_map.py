"""Map of equal elements between a model's inner values and its fixed form's, through a chain of plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from onnxlint_cmsis.algebra.axes import leaves, placement
from onnxlint_cmsis.dims.bias import bias_slot
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.derived import derived_values
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.result import Dimensions
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.planning.lane_plan import Plan
    from onnxlint_cmsis.proof.proven_model import Array

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


class PlanStep(NamedTuple):
    """One plan and the model that it is for."""

    graph: Graph
    """The model before the plan."""
    dimensions: Dimensions
    """Its classes."""
    plan: Plan
    """What changes."""


ElementMap = Mapping[str, Held]
"""Tensors of the main graph that hold the same in both models, but for lanes that one of them does not have."""


def element_map(graph: Graph, steps: Sequence[PlanStep]) -> dict[str, Held]:
    """Inner tensors that all plans preserve; `graph` is the model before the first plan.

    In a quantized model these are integers alone: a fused kernel never computes the floats between them. Left out are:
    sums whose bias is in another node, since that bias absorbed constants; symbolic axes that a plan changes; numbers
    of channels, and what follows from them; tensors that no output depends on, since a plan may remove their inputs.
    """
    found = dict.fromkeys(_computed(graph), Held())
    for step in steps:
        shifted = _shifted(step.graph, step.plan)
        later = {name: _after(step, name, held) for name, held in found.items() if name not in shifted}
        found = {name: held for name, held in later.items() if held is not None}
    return found


def aligned(old: Array, new: Array, held: Held) -> tuple[Array, Array] | None:
    """Common elements that count, in the order of the second; None where shapes do not fit."""
    read = held.read
    for axis, order in enumerate(held.orders):
        if order is None:
            continue
        kept = [place for place, index in enumerate(order) if index is not None]
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
    found: set[str] = set()
    for index in plan.increments:
        slot = bias_slot(graph, graph.nodes[index])
        if slot is None or slot.node != index:
            found.update(graph.nodes[index].outputs)
    return found


def _after(step: PlanStep, name: str, held: Held) -> Held | None:
    """Common elements after one more plan; None where there are none or they are unknown."""
    plan = step.plan
    if plan.read is not None and name not in plan.read:
        return None
    read = _both(held.read, plan.read[name] if plan.read is not None else None)
    axes = step.dimensions.axes(name) or ()
    changed = [any(leaf in plan.kept for leaf in leaves(axis)) for axis in axes]
    if not any(changed):
        return Held(held.orders, read)
    if any(axis.size is None for axis, one in zip(axes, changed, strict=True) if one):
        return None
    then = [placement(axis, plan.kept) if one else None for axis, one in zip(axes, changed, strict=True)]
    for axis, order in enumerate(then):
        read = read if order is None else _taken(read, axis, [index or 0 for index in order])
    orders = held.orders or (None,) * len(axes)
    return Held(tuple(_joined(one, other) for one, other in zip(orders, then, strict=True)), read)


def _joined(first: Order | None, then: Order | None) -> Order | None:
    """Two orders, one after the other."""
    if first is None or then is None:
        return then if first is None else first
    return tuple(None if index is None else first[index] for index in then)


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _taken(read: Mask | None, axis: int, places: Sequence[int]) -> Mask | None:
    """A mask with other indices along an axis where it varies."""
    return np.take(read, places, axis) if read is not None and read.shape[axis:] and read.shape[axis] > 1 else read
