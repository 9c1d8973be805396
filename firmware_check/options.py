"""What the commands read from their command lines: CPUs, counts, times."""

from __future__ import annotations

import argparse
import math
from typing import NoReturn

from firmware_check.boards import BOARDS, Board
from firmware_check.ending import say
from firmware_check.errors import FirmwareError
from onnxlint_cmsis.cmsis_nn.targets import parse_target


class CheckParser(argparse.ArgumentParser):
    """A parser that reports what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise FirmwareError instead of printing the usage."""
        raise FirmwareError(message)

    def _print_message(self, message: str, _file: object = None) -> None:
        """Write the help as every other text."""
        say(message)


def boards_named(targets: list[str] | None, usual: tuple[str, ...]) -> list[Board]:
    """The boards of `--target a,b --target c`, each once; those of `usual` where it is not given."""
    names = [name for target in targets or usual for name in target.split(",")]
    return list(dict.fromkeys(map(board_named, names)))


def board_named(name: str) -> Board:
    """The board for a CPU as the user names it; FirmwareError where QEMU has none."""
    try:
        cpu = parse_target(name).cpu
    except ValueError as error:
        raise FirmwareError(str(error)) from None
    for board in BOARDS:
        if board.cpu == cpu:
            return board
    raise FirmwareError(f"QEMU has no board for {cpu} here; allowed: {', '.join(board.cpu for board in BOARDS)}")


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number
