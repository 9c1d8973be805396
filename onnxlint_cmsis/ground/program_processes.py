"""Processes started as programs of this Python, where multiprocessing starts none.

Dask's nanny makes its workers daemons, which may have no children of multiprocessing's, and they have threads, which a
fork could upset. What multiprocessing spawns has the folder at hand among its modules; this has not. POSIX only.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from onnxlint_cmsis.ground.atomic_write import heeded


def serve(answers: Connection, faults: Connection) -> None:
    """Do what is asked for until the other end is closed; the process that asks ends this one."""
    for number in heeded():
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_workers_end_with_parent, daemon=True).start()
    if os.name == "posix":
        faulthandler.enable(faults.fileno())
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            work, subject = answers.recv()
            answers.send(work(subject))


START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from {module} import main; main()"
"""What the process runs, isolated: the same modules as this one, and none of the folder that it is started in."""


class ProgramProcess:
    """A process that serves at the ends of two pipes; it has what Worker asks of one of multiprocessing's."""

    def __init__(self, target: Callable[..., object], args: tuple[Connection, Connection], daemon: bool) -> None:
        if target is not serve or not daemon:
            raise ValueError("a program can do nothing but serve until its parent ends")
        self._pipes = args
        self._program: subprocess.Popen[bytes]

    def start(self) -> None:
        """Start the program; it ends when this process does, however that happens."""
        handles = [pipe.fileno() for pipe in self._pipes]
        self._program = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-c",
                START.format(module=__name__),
                json.dumps([*filter(None, sys.path)]),
                *map(str, handles),
            ],
            stdin=subprocess.PIPE,
            pass_fds=handles,
        )

    def join(self) -> None:
        """Wait for its end."""
        self._program.wait()
        if self._program.stdin:
            self._program.stdin.close()

    def terminate(self) -> None:
        """End it, whatever it does."""
        self._program.terminate()

    @property
    def exitcode(self) -> int | None:
        """Exit code, or less than zero for a signal; None while it runs."""
        return self._program.returncode


class ProgramContext:
    """Pipes and processes, as a context of multiprocessing has them."""

    Process = ProgramProcess

    def Pipe(self, duplex: bool = True) -> tuple[Any, Any]:  # noqa: N802 - multiprocessing's name
        """Two ends of a pipe."""
        return multiprocessing.Pipe(duplex)


def main() -> None:
    """Serve at the pipes; the command line has their handles."""
    threading.Thread(target=_program_process_end_with_parent, daemon=True).start()
    answers, faults = (Connection(int(handle)) for handle in sys.argv[1:])
    serve(answers, faults)


def _program_process_end_with_parent() -> None:
    """Wait until the other end of standard input is gone, and go as a signal would have it."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _workers_end_with_parent() -> None:
    """Wait until the parent is gone, however it ended, and go as a signal would have it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
