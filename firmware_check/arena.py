"""The activation arena of a program: its values as buffers, its layers as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.memory.arena_plan import ArenaPlan, ArenaStep, ArenaUses, plan_arena

if TYPE_CHECKING:
    from firmware_check.program import Program, Step


def plan(program: Program, guard: int = 0) -> ArenaPlan:
    """Place every value of a program, with `guard` bytes before and after each."""
    uses = [*program.inputs, *program.outputs]
    for step in program.steps:
        uses += [*step.inputs, step.output]
    sizes = {value.buffer: value.bytes for value in uses}
    ends = (tuple(value.buffer for value in values) for values in (program.inputs, program.outputs))
    inputs, outputs = ends
    return plan_arena(ArenaUses(sizes, inputs, tuple(map(_step, program.steps)), outputs), guard)


<<<<<<< HEAD
def _step(step: Step) -> ArenaStep:
    return ArenaStep(tuple(value.buffer for value in step.inputs), (step.output.buffer,), step.in_place)
=======
def _room(size: int, guard: int) -> int:
    return -(-(size + 2 * guard) // _ALIGNMENT) * _ALIGNMENT


def _needs(program: Program) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Bytes and lifetime of every buffer; host inputs live from the start, host outputs to the end."""
    sizes: dict[int, int] = {}
    lifetimes: dict[int, tuple[int, int]] = {}
    end = len(program.steps)
    uses = [(-1, value) for value in program.inputs] + [(end, value) for value in program.outputs]
    for number, step in enumerate(program.steps):
        uses += [(number, value) for value in (*step.inputs, step.output)]
    for number, value in uses:
        first, last = lifetimes.get(value.buffer, (number, number))
        lifetimes[value.buffer] = min(first, number), max(last, number)
        sizes[value.buffer] = value.bytes
    return sizes, lifetimes


def _shared(program: Program, sizes: dict[int, int], lifetimes: dict[int, tuple[int, int]]) -> dict[int, int]:
    """The buffer whose block each buffer takes: its own, or that of an input which the layer may overwrite."""
    owners = {buffer: buffer for buffer in sizes}
    for number, step in enumerate(program.steps):
        source, output = step.inputs[0].buffer, step.output.buffer
        ends_here = lifetimes[source][1] == number
        if step.in_place and ends_here and sizes[source] == sizes[output] and source != output:
            owners[output] = owners[source]
    return owners


def _lowest(block: int, lifetimes: dict[int, tuple[int, int]], placed: dict[int, int], rooms: dict[int, int]) -> int:
    first, last = lifetimes[block]
    taken = sorted(
        (start, start + rooms[other])
        for other, start in placed.items()
        if lifetimes[other][0] <= last and first <= lifetimes[other][1]
    )
    place = 0
    for start, end in taken:
        if place + rooms[block] <= start:
            break
        place = max(place, end)
    return place
>>>>>>> main
