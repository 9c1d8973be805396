"""One run of QEMU: the firmware's lines as they come, and an end in time.

The firmware is built from a model, and a model is hostile input. So QEMU offers it no semihosting, which could run a
command or open a file of the host. What it can reach is a pipe for text and the one file that holds the board's RAM.
"""

from __future__ import annotations

import os
import selectors
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_check.errors import FirmwareError
from firmware_check.toolchain import Processes, tool

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from firmware_check.boards import Board


SHARED = "ram.bin"
"""File beside an image that holds the board's shared RAM."""
_MOST = 64 << 20
"""Bytes that a firmware may say."""
_CHUNK = 1 << 16
_LOOK = 0.5
"""Seconds between two looks for a signal."""


def command_line(image: Path, board: Board) -> list[str]:
    """QEMU with a board, to be started in the image's folder; a reset of the board ends it."""
    shared = f"memory-backend-file,id=shared,mem-path={SHARED},size={board.shared.size},share=on"
    return [
        tool("qemu-system-arm"), "-M", f"{board.machine},memory-backend=shared", "-object", shared, "-nodefaults",
        "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-serial", "stdio",
        "-semihosting-config", "enable=off", "-icount", "shift=0", "-kernel", str(image.resolve()),
    ]  # fmt: skip


def emulate(image: Path, board: Board, seconds: float, processes: Processes, heard: Callable[[str], None]) -> str:
    """Run an image, `heard` on each line that it says; what QEMU says on standard error.

    Raises:
        FirmwareError: QEMU has no such board, or the firmware does not end in time or says too much.

    """
    if os.name == "nt":
        raise FirmwareError("firmware runs in QEMU on Linux and macOS: QEMU for Windows keeps no RAM in a file")
    with processes.started([*leash(os.getpid()), *command_line(image, board)], image.parent) as process:
        said = _followed(process, seconds, heard)
    if "unsupported machine type" in said:
        raise FirmwareError(f"this QEMU has no board {board.machine}; qemu-system-arm 7.2 or newer has it")
    return said.strip()


def leash(parent: int) -> list[str]:
    """Words in front of a command that end it when its parent, a process of this number, dies, even killed.

    A parent that died before the leash was on is no parent any more, and the command does not begin. No words where
    there is no setpriv: outside of Linux.
    """
    setpriv = shutil.which("setpriv")
    begin = 'test "$PPID" = "$0" && exec "$@"'
    return [setpriv, "--pdeathsig", "KILL", "sh", "-c", begin, str(parent)] if setpriv else []


def _followed(process: subprocess.Popen[bytes], seconds: float, heard: Callable[[str], None]) -> str:
    """Standard error of a process that closes its pipes in time."""
    end = time.monotonic() + seconds
    started, said, total = b"", b"", 0
    with selectors.DefaultSelector() as selector:
        for name in ("stdout", "stderr"):
            selector.register(getattr(process, name), selectors.EVENT_READ, name)
        while selector.get_map():
            for key, _ in selector.select(min(_LOOK, max(0.0, end - time.monotonic()))):
                chunk = os.read(key.fd, _CHUNK)
                total += len(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data == "stderr":
                    said += chunk
                else:
                    *lines, started = (started + chunk).split(b"\n")
                    for line in filter(None, lines):
                        heard(line.decode("ascii", "replace"))
            if time.monotonic() > end:
                raise FirmwareError(f"the firmware did not end within {seconds:g} s; --timeout allows more")
            if total > _MOST:
                raise FirmwareError(f"the firmware said more than {_MOST:,} bytes: something overwrote its memory")
    return said.decode("utf-8", "replace")
