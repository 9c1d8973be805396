"""What a test has a process start with: signals that end it, whoever started the tests, or signals it shall ignore."""

from __future__ import annotations

import signal
from collections.abc import Callable

from onnxlint_cmsis.ground.atomic_write import DEADLY


def heeding() -> None:
    """For `preexec_fn`: signals end the process, even where the tests were started with some of them ignored."""
    for number in DEADLY:
        signal.signal(number, signal.SIG_DFL)


def ignoring(*numbers: int) -> Callable[[], None]:
    """For `preexec_fn`: these signals are ignored, as `nohup` has it; the others end the process."""

    def start() -> None:
        heeding()
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    return start
