"""Whether layers fit a board, from their sizes alone: known before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.arena import plan
from firmware_check.build import STACK
from firmware_check.errors import TooLargeError
from firmware_check.memory import scratch_of

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.program import Program, Step
    from onnxlint_cmsis.ground.types import Target


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
