"""How a command speaks and ends: an error or a signal is one line on standard error, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.ground.atomic_write import heeded
from onnxlint_cmsis.output.foreign_text import printable

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
