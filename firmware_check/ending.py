"""How a command ends: an error or a signal is one line on standard error, and leaves nothing behind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.atomic import heeded
from onnxlint_cmsis.reporters.plain import printable

COULD_NOT = 2
"""Exit code of a command that could not run."""


class _Ended(BaseException):
    """A signal asks the run to end."""


def in_one_line(program: str, run: Callable[[], int]) -> int:
    """The exit code of a run, or COULD_NOT with the reason on standard error."""
    try:
        with _ended_by_signals():
            return run()
    except FirmwareError as error:
        said = str(error)
    except _Ended as end:
        said = f"ended by {end}"
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        said = f"internal error: {type(error).__name__}: {lines[0]}; please report it"
    print(f"{program}: {printable(said)}", file=sys.stderr)
    return COULD_NOT


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals that are not ignored end the run as an exception does, so that QEMU and temporary files go too."""

    def end(number: int, _frame: object) -> None:
        raise _Ended(signal.Signals(number).name)

    before = {number: signal.signal(number, end) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
