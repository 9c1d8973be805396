"""Tasks on a Dask cluster: each worker of the cluster runs models in a process beside it, which they may end."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Any

from distributed import Client, KilledWorker, as_completed, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.program_processes import ProgramContext
from onnxlint_cmsis.ground.workers import Ended, Task, Worker

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterator

    from onnxlint_cmsis.fleet.scan import Doing


MOST = 1000
"""Tasks that the scheduler knows of at once."""
PATIENCE = 30
"""Seconds to wait for the scheduler."""


class ModelProcesses(WorkerPlugin):  # type: ignore[misc] # distributed is Any here
    """The processes beside one worker of the cluster: one for each thread that has a model."""

    def __init__(self) -> None:
        self._version = __version__
        self._every: list[Worker] = []
        self._idle: list[Worker] = []

    def run(self, work: Callable[[Any], object], subject: object) -> Any:
        """What the work returned in a process, or Ended. Raises RuntimeError for another version of this program."""
        if self._version != __version__:
            raise RuntimeError(f"the worker has onnxlint-cmsis {__version__}, the scan {self._version}")
        if self._idle:
            worker = self._idle.pop()
        else:
            worker = Worker(ProgramContext())
            self._every.append(worker)
        worker.give(work, subject)
        answer = worker.take()
        self._idle.append(worker)
        return answer

    def teardown(self, worker: object) -> None:  # noqa: ARG002 - Dask's signature
        """End the processes, whatever they do."""
        for process in self._every:
            process.stop()


def on_dask(address: str) -> Doing:
    """Do tasks on the workers of a scheduler. A worker that is lost loses nothing: another does its tasks again."""

    def doing(tasks: deque[Task]) -> Iterator[tuple[Task, Any]]:
        name = f"onnxlint-cmsis-{uuid.uuid4().hex}"
        with _dask_team_told(address):
            client = Client(address, timeout=PATIENCE)
        with client:
            with _dask_team_told(address):
                client.register_plugin(ModelProcesses(), name)
            try:
                yield from _each_done(client, tasks, name)
            finally:
                with contextlib.suppress(Exception):  # a scheduler that is gone has no plugin either
                    client.unregister_worker_plugin(name)

    return doing


def _each_done(client: Any, tasks: deque[Task], plugin: str) -> Iterator[tuple[Task, Any]]:
    """Each task with what it returned, or Ended, as they finish; the scheduler gets no more than it can see to."""
    done = as_completed()
    submitted: dict[str, Task] = {}

    def submit() -> None:
        while tasks and len(submitted) < MOST:
            task = tasks.popleft()
            key = f"{plugin}-{uuid.uuid4().hex}"
            submitted[key] = task
            done.add(client.submit(_run, plugin, task.work, task.subject, key=key, pure=False))

    submit()
    for future in done:
        answer = _answer(client, future)
        yield submitted.pop(future.key), answer
        submit()


def _run(plugin: str, work: Callable[[Any], object], subject: object) -> object:
    """On a worker of the cluster: have it done by a process beside it."""
    processes: ModelProcesses = get_worker().plugins[plugin]
    return processes.run(work, subject)


def _answer(client: Any, future: Any) -> Any:
    """What a task returned, or Ended where every worker that had it was lost."""
    with _dask_team_told(client.scheduler.address):
        try:
            return future.result()
        except KilledWorker:
            return Ended("with the workers of the cluster that had it, one after the other", frozenset())


@contextlib.contextmanager
def _dask_team_told(address: str) -> Iterator[None]:
    """Make one line of what goes wrong with the cluster."""
    try:
        yield
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"--dask {address}: {text}; the same command goes on where this scan stopped") from None
