"""Processes of QEMU: each in time, none left behind."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from firmware_check.toolchain import tool

if TYPE_CHECKING:
    from pathlib import Path

    from firmware_check.boards import Board

Watch = Callable[["Path", int], None]
"""Hears how many layers the report of a firmware has, each time it grows."""
_LOOK = 0.2
"""Seconds between two looks at a running firmware's report."""


class Emulators:
    """The emulators that run at one time."""

    def __init__(self, ended: Watch | None = None) -> None:
        self._running: list[subprocess.Popen[str]] = []
        self._stopped = False
        self._lock = Lock()
        self._ended = ended

    def run(self, image: Path, board: Board, seconds: float) -> str:
        """What QEMU says on standard error; FirmwareError where it has no such board or the firmware does not end."""
        process = self._start(image, board)
        try:
            said = self._waited(process, image.parent / "report.txt", seconds)
        finally:
            with self._lock:
                self._running.remove(process)
        if "unsupported machine type" in said:
            raise FirmwareError(f"this QEMU has no board {board.machine}; qemu-system-arm 7.2 or newer has it")
        return said.strip()

    def stop(self) -> None:
        """End all of them, and start no other."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()

    def _start(self, image: Path, board: Board) -> subprocess.Popen[str]:
        command = [
            *_leash(), tool("qemu-system-arm"), "-M", board.machine, "-nodefaults", "-display", "none", "-monitor",
            "none", "-serial", "none", "-icount", "shift=0", "-semihosting-config", "enable=on,target=native",
            "-kernel", str(image.resolve()),
        ]  # fmt: skip
        with self._lock:
            if self._stopped:
                raise FirmwareError("the run was ended")
            process = subprocess.Popen(
                command, cwd=image.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            self._running.append(process)
        return process

    def _waited(self, process: subprocess.Popen[str], report: Path, seconds: float) -> str:
        """Standard error of a process that ends in time; one that does not is killed."""
        left = seconds
        try:
            while True:
                try:
                    return process.communicate(timeout=min(_LOOK, left))[1]
                except subprocess.TimeoutExpired:
                    left -= _LOOK
                    if left <= 0:
                        text = f"the firmware did not end within {seconds:g} s; --timeout allows more"
                        raise FirmwareError(text) from None
                if self._ended and report.is_file():
                    self._ended(report, report.read_bytes().count(b"layer "))
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _leash() -> tuple[str, ...]:
    """Hook that ends QEMU when this process dies, even killed; none outside Linux."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
