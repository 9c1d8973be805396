"""A memory plan that takes less than the interpreter's own planner, or what the file's plan takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.tflite.memory_plan import FURTHEST, ONLINE, stated_plan
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.in_place import pairs_in_place
from onnxlint_cmsis.runtimes.tflm.lifetimes import NEVER, Lifetimes
from onnxlint_cmsis.runtimes.tflm.packing import MOST_BUFFERS, pack
from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer, laid_out

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel
    from onnxlint_cmsis.runtimes.tflm.arena import ArenaLayout


class FreePlan(NamedTuple):
    """A plan for a file, which changes nothing else."""

    offsets: tuple[int, ...]
    """First byte of every tensor, those of all subgraphs in order; ONLINE for what has no place in the head."""
    arenas: tuple[ArenaLayout, ...]
    """The arena of each target with it."""
    in_place: int = 0
    """Results that lie on an operand of their operator."""


def least_head(model: TfliteModel, layout: ArenaLayout) -> int:
    """Bytes that are alive at once, with results on operands where they may lie there: no plan gets below."""
    return max(alive_in_steps(model, _alive(model, layout)).values(), default=0)


def peak_steps(model: TfliteModel, layout: ArenaLayout) -> list[int]:
    """Steps in which most bytes are alive, of which the first operator is 1."""
    alive = alive_in_steps(model, _alive(model, layout))
    most = max(alive.values(), default=0)
    return sorted(step for step, size in alive.items() if size == most)


def alive_in_steps(model: TfliteModel, buffers: Sequence[PlannedBuffer]) -> dict[int, int]:
    """Bytes that are alive in each step, with results on operands where they may lie there and that takes less."""
    ways = (_sums(groups[0]) for groups in (_alone(buffers), _handed_on(model, buffers)))
    return min(ways, key=lambda sums: max(sums.values(), default=0))


def _sums(buffers: Sequence[PlannedBuffer]) -> dict[int, int]:
    changes: dict[int, int] = {}
    for buffer in buffers:
        room = buffer.room
        changes[buffer.first] = changes.get(buffer.first, 0) + room
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - room
    steps = range(min(changes, default=0), max(changes, default=0))
    return dict(zip(steps, accumulate(changes.get(step, 0) for step in steps), strict=True))


def free_plan(model: TfliteModel, layouts: Sequence[ArenaLayout]) -> FreePlan | None:
    """The best plan that is found for all targets together; None where it gains on none, or takes more on one.

    `layouts` are the arenas of the file as it is. Scratch is placed on the device, around the plan: room for the most
    that a target asks for is left, and every target's arena is worked out with its own. Results lie on operands only
    in a plan that takes less by it.
    """
    wasted = [layout.head - least_head(model, layout) for layout in layouts]
    large = any(len(layout.plan) > MOST_BUFFERS for layout in layouts)
    if large or max(wasted, default=0) <= 0 or any(_variables_placed(model)):
        return None
    alive = [_alive(model, layout) for layout in layouts]
    tensors = sum(len(subgraph.tensors) for subgraph in model.subgraphs)
    candidates = [_largest_scratch(alive, tensors), *(alive if len({*map(tuple, alive)}) > 1 else ())]
    plans = [
        _fitted(layouts, *groups, tensors)
        for candidate in candidates
        for groups in (_alone(candidate), _handed_on(model, candidate))
    ]
    old = tuple(layout.to_write for layout in layouts)
    stated = [plan for plan in plans if max(plan.offsets, default=ONLINE) <= FURTHEST]
    gaining = [plan for plan in stated if all(now <= before for now, before in zip(_needs(plan), old, strict=True))]
    best = min(gaining, key=lambda plan: (max(_needs(plan)), sum(_needs(plan)), plan.in_place), default=None)
    return best if best is not None and _needs(best) != old else None


def _needs(plan: FreePlan) -> tuple[int, ...]:
    return tuple(layout.to_write for layout in plan.arenas)


def _variables_placed(model: TfliteModel) -> Sequence[bool]:
    """Tell whether each variable that the file's plan covers is placed by it, which moves it out of the tail."""
    stated = stated_plan(model)
    tensors = (tensor for subgraph in model.subgraphs for tensor in subgraph.tensors)
    offsets = stated.offsets if stated else ()
    return [tensor.is_variable and at != ONLINE for tensor, at in zip(tensors, offsets, strict=False)]


def _alive(model: TfliteModel, layout: ArenaLayout) -> list[PlannedBuffer]:
    """Buffers that an operator touches, without places; what the body of a loop holds lives as long as the loop."""
    loops = Lifetimes(model, layout.scratch).loops
    buffers = []
    for buffer in layout.plan:
        if buffer.first == NEVER:
            continue
        first, last = buffer.first, buffer.last
        for begun, end in loops:
            if begun <= first and last <= end:
                first, last = begun, end
        buffers.append(buffer._replace(first=first, last=last, offset=ONLINE))
    return buffers


def _largest_scratch(alive: Sequence[list[PlannedBuffer]], tensors: int) -> list[PlannedBuffer]:
    """Tensors, and for each step the most scratch that a target asks for there."""
    sums: dict[tuple[int, int], int] = {}
    for buffers in alive:
        own: dict[tuple[int, int], int] = {}
        for buffer in buffers:
            if buffer.number >= tensors:
                life = buffer.first, buffer.last
                own[life] = own.get(life, 0) + buffer.room
        for life, size in own.items():
            sums[life] = max(sums.get(life, 0), size)
    kept = [buffer for buffer in alive[0] if buffer.number < tensors]
    return [*kept, *(PlannedBuffer(tensors + number, size, *life) for number, (life, size) in enumerate(sums.items()))]


Groups = tuple[Sequence[PlannedBuffer], dict[int, int]]
"""Buffers to place, and for each tensor that lies where another one lies the number of that one."""


def _alone(buffers: Sequence[PlannedBuffer]) -> Groups:
    return buffers, {}


def _handed_on(model: TfliteModel, buffers: Sequence[PlannedBuffer]) -> Groups:
    """Results on the operand that ends with their operator, where its kernel may write over what it reads."""
    lives = {buffer.number: buffer for buffer in buffers}
    owners: dict[int, int] = {}
    for operand, result in sorted(pairs_in_place(model), key=lambda pair: pair[::-1]):
        owner = owners.get(operand, operand)
        if operand not in lives or result not in lives or result in owners:
            continue
        first, second = lives[owner], lives[result]
        if first.last == second.first and first.size == second.size and lives[operand].last == second.first:
            lives[owner] = first._replace(last=second.last)
            owners[result] = owner
    return [buffer for number, buffer in lives.items() if number not in owners], owners


def _fitted(
    layouts: Sequence[ArenaLayout], candidate: Sequence[PlannedBuffer], owners: dict[int, int], tensors: int
) -> FreePlan:
    """The plan that packing some buffers gives, on every target; what no operator touches lies at 0."""
    packed = pack(candidate)
    at = {buffer.number: offset for buffer, offset in zip(candidate, packed.offsets, strict=True)}
    at |= {result: at[owner] for result, owner in owners.items()}
    at |= {buffer.number: 0 for buffer in layouts[0].plan if buffer.first == NEVER}
    offsets = tuple(at.get(number, ONLINE) for number in range(tensors))
    arenas = []
    for layout in layouts:
        fixed = [b._replace(offset=offsets[b.number] if b.number < tensors else ONLINE) for b in layout.plan]
        plan = laid_out(fixed)
        arenas.append(layout._replace(plan=plan, head=max((buffer.end for buffer in plan), default=0)))
    return FreePlan(offsets, tuple(arenas), len(owners))
