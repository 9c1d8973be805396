"""Processes that do one piece of work after the other, so that a library that ends one takes nothing else with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from onnxlint_cmsis.ground.atomic_write import heeded
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.program_processes import ProgramContext, serve

INNERMOST = re.compile(r'\(most recent call first\):\s+File "[^"]*?([^"/\\]+)[/\\](?:capi[/\\])?[^"/\\]*"')
"""A thread's innermost call in faulthandler's text, with its package."""
MAX_FAULT = 65536
"""Bytes that are read of it."""


class Ended(NamedTuple):
    """A process that ended in the middle of its work."""

    how: str
    """Signal or exit code, as a clause's end: `with SIGABRT`."""
    packages: frozenset[str]
    """Packages that its threads were calling into; empty where the signal left no time to write them down."""


class Task(NamedTuple):
    """A piece of work."""

    work: Callable[[Any], object]
    """What to do; it can be pickled."""
    subject: Any
    """What to do it with; likewise."""
    label: Any = None
    """What the task is known by to who gave it; it stays here."""


class Worker:
    """A process, started when work is given to it, and anew where the last one ended."""

    def __init__(self, context: Any) -> None:
        """`context` makes pipes and processes, like a context of multiprocessing."""
        self._context = context
        self._process: Any = None
        self.answers: Connection
        """Ready to be read when the work is done or the process ended."""
        self._faults: Connection

    def give(self, work: Callable[[Any], object], subject: object) -> None:
        """Have something done that can be pickled; `take` has what it returns."""
        if self._process is not None and self.answers.poll():  # it ended when it had nothing to do
            self._ended()
        if self._process is None:
            self._start()
        with contextlib.suppress(BrokenPipeError):  # a process that ended meanwhile: `take` tells
            self.answers.send((work, subject))

    def take(self) -> Any:
        """What the work returned, or Ended."""
        try:
            return self.answers.recv()
        except (EOFError, OSError):
            return self._ended()

    def stop(self) -> None:
        """End the process, whatever it does; a file that it is writing stays as it was."""
        process = self._process
        if process is not None:
            process.terminate()
            process.join()

    def _start(self) -> None:
        self.answers, theirs = self._context.Pipe()
        self._faults, faults = self._context.Pipe(duplex=False)
        process = self._context.Process(target=serve, args=(theirs, faults), daemon=True)
        process.start()
        self._process = process
        theirs.close()
        faults.close()

    def _ended(self) -> Ended:
        self._process.join()
        code, self._process = self._process.exitcode, None
        how = f"with {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        written = os.read(self._faults.fileno(), MAX_FAULT).decode(errors="replace") if os.name == "posix" else ""
        return Ended(how, frozenset(INNERMOST.findall(written)))


def _context() -> Any:
    """Pipes and processes of this system; a process takes no module of the folder that it is started in."""
    if sys.platform == "linux":
        return multiprocessing.get_context("fork")  # no thread runs here that a fork could upset
    return multiprocessing.get_context("spawn") if sys.platform == "win32" else ProgramContext()


@contextlib.contextmanager
def team(size: int) -> Iterator[list[Worker]]:
    """So many workers, all ended at the end; SIGTERM and SIGHUP end the run as Ctrl-C does."""
    workers = [Worker(_context()) for _ in range(size)]
    with ended_by_signal():
        try:
            yield workers
        finally:
            for worker in workers:
                worker.stop()


def each_done(workers: list[Worker], tasks: deque[Task]) -> Iterator[tuple[Task, Any]]:
    """Each task with what it returned, or Ended, as they finish; tasks may be added meanwhile."""
    busy: dict[Worker, Task] = {}
    while tasks or busy:
        for worker in workers:
            if tasks and worker not in busy:
                busy[worker] = task = tasks.popleft()
                worker.give(task.work, task.subject)
        for worker in ready(busy):
            yield busy.pop(worker), worker.take()


def ready(workers: Iterable[Worker]) -> list[Worker]:
    """Workers that have something to take, once there are some."""
    asked = list(workers)
    answered = wait([worker.answers for worker in asked])
    return [worker for worker in asked if worker.answers in answered]


@contextlib.contextmanager
def ended_by_signal() -> Iterator[None]:
    """Make signals that end a process raise SystemExit, so that no worker goes on without it."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in heeded() if signal.getsignal(number) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
