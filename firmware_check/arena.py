"""The activation arena: which value lies where, from lifetimes; a value may take the place of one that ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_check.program import Program

_ALIGNMENT = 16


@dataclass(frozen=True)
class ArenaPlan:
    """A plan of memory."""

    size: int
    """Bytes in all, guards included."""
    guard: int
    """Bytes of guard before and after each value."""
    offsets: dict[int, int]
    """First byte of each buffer."""
    sizes: dict[int, int]
    """Bytes of each buffer."""
    lifetimes: dict[int, tuple[int, int]]
    """First and last layer that needs the buffer; -1 stands for the host before the first layer."""


def plan(program: Program, guard: int = 0) -> ArenaPlan:
    """Place every buffer of a program: large ones first, each at the lowest place that is free while it lives."""
    sizes, lifetimes = _needs(program)
    owners = _shared(program, sizes, lifetimes)
    blocks: dict[int, tuple[int, int]] = {}
    for buffer, owner in owners.items():
        first, last = blocks.get(owner, lifetimes[buffer])
        blocks[owner] = min(first, lifetimes[buffer][0]), max(last, lifetimes[buffer][1])
    placed: dict[int, int] = {}
    for block in sorted(blocks, key=lambda each: (-sizes[each], each)):
        placed[block] = _lowest(block, blocks, placed, {each: _room(sizes[each], guard) for each in blocks})
    size = max((placed[block] + _room(sizes[block], guard) for block in placed), default=0)
    offsets = {buffer: placed[owner] + guard for buffer, owner in sorted(owners.items())}
    return ArenaPlan(size, guard, offsets, sizes, lifetimes)


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
