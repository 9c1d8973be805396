"""Where the activations of a program lie, and what its memory is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_plan import ArenaPlan, ArenaStep, ArenaUses, plan_arena

if TYPE_CHECKING:
    from firmware_check.program import Program, Step


def plan(program: Program, guard: int = 0) -> ArenaPlan:
    """Place every value of a program, with `guard` bytes before and after each."""
    uses = [*program.inputs, *program.outputs]
    for step in program.steps:
        uses += [*step.inputs, step.output]
    sizes = {value.buffer: value.bytes for value in uses}
    inputs, outputs = (tuple(value.buffer for value in values) for values in (program.inputs, program.outputs))
    return plan_arena(ArenaUses(sizes, inputs, tuple(map(_step, program.steps)), outputs), guard)


def _step(step: Step) -> ArenaStep:
    return ArenaStep(tuple(value.buffer for value in step.inputs), (step.output.buffer,), step.in_place)
