"""A scan: models, each in a process, their rows written part by part."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Protocol

from onnxlint_cmsis.fleet.scan_rows import CRASHED, FILE, ScanRow
from onnxlint_cmsis.fleet.scanned_model import ScanJob, scan_model
from onnxlint_cmsis.ground.workers import Ended, Task, each_done, team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Doing = Callable[[deque[Task]], Iterator[tuple[Task, Any]]]


class Output(Protocol):
    """Where rows go."""

    def add(self, rows: Sequence[ScanRow]) -> None:
        """Take the rows of some models, whole."""


LONGEST = 60.0
"""Seconds after which a part is written although more models would fit in it."""


def in_processes(size: int) -> Doing:
    """Do tasks in so many processes of this machine."""

    def doing(tasks: deque[Task]) -> Iterator[tuple[Task, Any]]:
        with team(size) as workers:
            yield from each_done(workers, tasks)

    return doing


def scan(
    jobs: list[ScanJob], doing: Doing, output: Output, batch: int, done: Callable[[str], None] = lambda _url: None
) -> Counter[str]:
    """Scan the models and write a part for each `batch` of them, or each minute; how many have which status.

    What is finished is written also where the scan is interrupted. `done` is called with each model's URL.
    """
    statuses: Counter[str] = Counter()
    waiting: list[tuple[ScanRow, ...]] = []
    last = time.monotonic()
    tasks = deque(Task(scan_model, job, job.url) for job in jobs)
    try:
        for task, answer in doing(tasks):
            rows = _rows(task, answer)
            waiting.append(rows)
            statuses[rows[0].status] += 1
            done(task.label)
            if len(waiting) >= batch or time.monotonic() - last > LONGEST:
                _write(output, waiting)
                last = time.monotonic()
    finally:
        _write(output, waiting)
    return statuses


def _rows(task: Task, answer: Any) -> tuple[ScanRow, ...]:
    """The rows of a model, also of one that ended its process."""
    if isinstance(answer, Ended):
        return (ScanRow(FILE, task.label, CRASHED, message=f"its process ended {answer.how}"),)
    rows: tuple[ScanRow, ...] = answer
    return rows


def _write(output: Output, waiting: list[tuple[ScanRow, ...]]) -> None:
    """Write and forget the rows of the models that wait for it."""
    if waiting:
        output.add([row for rows in waiting for row in rows])
        waiting.clear()
