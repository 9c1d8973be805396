"""Processes started as programs of this Python, for places where multiprocessing starts none.

Dask's nanny makes its workers daemons, which may have no children of multiprocessing's, and they have threads, which a
fork could upset. POSIX only.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.fleet.workers import serve

if TYPE_CHECKING:
    from collections.abc import Callable

START = "from onnxlint_cmsis.fleet.program_process import main; main()"


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
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._program = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, handles)],
            stdin=subprocess.PIPE,
            pass_fds=handles,
            env=environment,
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
    """Serve at the pipes whose handles the command line has."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answers, faults = (Connection(int(handle)) for handle in sys.argv[1:])
    serve(answers, faults)


def _end_with_parent() -> None:
    """Wait until the other end of standard input is gone, and go as a signal would have it."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
