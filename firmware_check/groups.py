"""Layers in groups that run apart, where the whole does not fit a board or one layer is to be seen alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.arena import plan
from firmware_check.build import STACK
from firmware_check.errors import TooLargeError
from firmware_check.memory import scratch_of
from firmware_check.program import side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.boards import Board
    from firmware_check.program import Program, Step
    from onnxlint_cmsis.ground.types import Target


# Whether layers fit a board, from their sizes alone: known before anything is compiled.


def constants_of(step: Step) -> int:
    """Bytes of flash that a layer's arrays take."""
    return sum(array.bytes for array in step.arrays)


def check_room(program: Program, board: Board, target: Target) -> None:
    """TooLargeError where constants, or arena, scratch and stack, are more than the board has."""
    constants = sum(constants_of(step) for step in program.steps)
    if constants > board.flash.size:
        raise TooLargeError(f"{constants:,} bytes of constants; {board.cpu}'s board has {board.flash.size:,} of flash")
    arena = plan(program).size
    scratch = max((scratch_of(step, target) for step in program.steps), default=0)
    if arena + scratch + STACK > board.ram.size:
        raise TooLargeError(
            f"{arena:,} bytes of activations, {scratch:,} of scratch and {STACK:,} of stack; {board.cpu}'s board has"
            f" {board.ram.size:,} of RAM"
        )


# Layers that run apart, in groups whose constants fit one firmware together.


Group = tuple["Step", ...]
MOST = 64
"""Layers in one group: each is a function, and a fault in one ends the run of all."""
_CODE = 160 << 10
"""Bytes of flash kept for code."""


def groups_of(steps: Sequence[Step], board: Board, target: Target) -> tuple[list[Group], list[tuple[Step, str]]]:
    """The layers in groups, and those that alone do not fit the board, with the reason."""
    groups: list[list[Step]] = []
    large: list[tuple[Step, str]] = []
    taken = 0
    for step in steps:
        try:
            check_room(side_by_side([step]), board, target)
        except TooLargeError as error:
            large.append((step, str(error)))
            continue
        size = constants_of(step)
        if not groups or len(groups[-1]) == MOST or taken + size > board.flash.size - _CODE:
            groups.append([])
            taken = 0
        groups[-1].append(step)
        taken += size
    return [tuple(group) for group in groups], large


def halves(group: Group) -> tuple[Group, Group]:
    """A group in two."""
    middle = len(group) // 2
    return group[:middle], group[middle:]
