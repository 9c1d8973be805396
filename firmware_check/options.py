"""Arguments, progress and the end of a run, as all commands of the check share them."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, TextIO

from firmware_check.boards import BOARDS, Board
from firmware_check.errors import FirmwareError
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.atomic_write import heeded
from onnxlint_cmsis.output.plain import printable

# How a command speaks and ends: an error or a signal is one line on standard error, and leaves nothing behind.


COULD_NOT = 2
"""Exit code of a command that could not run."""


class _Ended(BaseException):
    """A signal asks the run to end."""


def in_one_line(program: str, run: Callable[[], int]) -> int:
    """The exit code of a run, or COULD_NOT with the reason on standard error."""
    _open_streams()
    try:
        with _ended_by_signals():
            return run()
    except FirmwareError as error:
        said = str(error)
    except _Ended as end:
        said = f"ended by {end}"
    except OSError as error:
        said = f"{error.filename or 'the system'}: {error.strerror or error}"
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        said = f"internal error: {type(error).__name__}: {lines[0]}; please report it"
    complain(f"{program}: {said}")
    return COULD_NOT


def say(text: str) -> None:
    """Write to standard output at once; a reader that is gone misses the rest, and the run goes on.

    Raises:
        FirmwareError: standard output cannot be written to for another reason: a full disk.

    """
    try:
        _write_ending(sys.stdout, text)
    except OSError as error:
        raise FirmwareError(f"standard output: {error.strerror}") from None


def complain(line: str) -> None:
    """Write a line to standard error, as far as it can be written to."""
    try:
        _write_ending(sys.stderr, f"{printable(line)}\n")
    except OSError:
        return


def _write_ending(stream: TextIO, text: str) -> None:
    """Write and flush; what is left of a stream that fails is dropped, not tried again when Python shuts down."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def _open_streams() -> None:
    """Open the null device for each standard stream that was closed, and have none fail at a character it lacks.

    Otherwise the next file that is opened takes the stream's number, and gets what a library prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals that are not ignored end the run as an exception does, so that QEMU and temporary files go too.

    While they go, further ones are ignored.
    """
    before: dict[int, Any] = {}

    def end(number: int, _frame: object) -> None:
        for signal_number in before:
            signal.signal(signal_number, lambda *_: None)  # not SIG_IGN, which a child inherits
        raise _Ended(signal.Signals(number).name)

    for number in heeded():
        before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# What both commands read from their command lines: CPUs, counts, times.


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


# What a long run is at, on standard error: a bar on a terminal, lines otherwise, nothing for a short run.


_WIDTH = 30
_FIRST, _NEXT = 30.0, 10.0
"""Seconds before the first line, and between two of them, where standard error is no terminal."""


class Progress:
    """Layers that ran, of all layers of one check; each runs in two builds."""

    def __init__(self, title: str, layers: int, builds: int = 2) -> None:
        self._title = printable(title)
        self._layers = layers
        self._all = max(1, layers * builds)
        self._builds = builds
        self._seen: dict[Path, int] = {}
        self._said = time.monotonic() - _NEXT + _FIRST
        self._lock = Lock()
        self._shown = False

    def ran(self, report: Path, count: int) -> None:
        """So many layers are in a firmware's report."""
        with self._lock:
            self._seen[report] = max(count, self._seen.get(report, 0))
            self._show(min(self._all, sum(self._seen.values())))

    def at(self, what: str) -> None:
        """Tell that a stage begins."""
        with self._lock:
            self._line(f"{self._title}: {what}")

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _show(self, done: int) -> None:
        layers = done / self._builds
        if sys.stderr.isatty():
            full = _WIDTH * done // self._all
            bar = f"[{'#' * full}{'.' * (_WIDTH - full)}]"
            self._draw(f"{bar} {layers:.0f} of {self._layers} layers, {self._title}")
        else:
            self._line(f"{self._title}: {layers:.0f} of {self._layers} layers ran")

    def _line(self, text: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            self._draw(text)
        elif now - self._said >= _NEXT:
            self._said = now
            complain(f"firmware_check: {text}")

    def _draw(self, text: str) -> None:
        self._shown = True
        sys.stderr.write(f"\r\033[K{text[:118]}")
        sys.stderr.flush()
