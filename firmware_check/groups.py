"""Layers that run apart, in groups whose constants fit one firmware together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_check.errors import TooLargeError
from firmware_check.program import Step, side_by_side
from firmware_check.room import check_room, constants_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware_check.boards import Board
    from onnxlint_cmsis.ground.types import Target


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
