"""Processes that may die, of multiprocessing and as programs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque

import pytest

from onnxlint_cmsis.ground.program_processes import ProgramContext
from onnxlint_cmsis.ground.workers import Ended, Task, Worker, each_done, team

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs get their pipes as POSIX hands them on")


def ended(pid: int) -> None:
    """Kill a process, and wait until the system has taken its pipes."""
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)


@pytest.fixture(params=[multiprocessing.get_context("spawn"), ProgramContext()], ids=["process", "program"])
def worker(request):
    worker = Worker(request.param)
    yield worker
    worker.stop()


def test_a_process_serves_more_than_once_and_comes_anew(worker):
    worker.give(abs, -3)
    assert worker.take() == 3
    worker.give(int, "no number")  # an exception ends the process
    assert worker.take().how == "with exit code 1"
    worker.give(signal.raise_signal, signal.SIGKILL)
    assert worker.take() == Ended("with SIGKILL", frozenset())
    worker.give(abs, -4)
    assert worker.take() == 4


def test_a_process_that_ends_between_two_tasks_takes_none_with_it(worker):
    worker.give(eval, "__import__('os').getpid()")
    ended(worker.take())
    worker.give(abs, -5)
    assert worker.take() == 5


def test_tasks_may_be_added_while_others_are_done():
    tasks = deque(Task(abs, -number, number) for number in range(1, 5))
    seen = []
    with team(2) as workers:
        for task, answer in each_done(workers, tasks):
            seen.append((task.label, answer))
            if task.label < 3:
                tasks.append(Task(abs, -10 * task.label, 10 * task.label))
    assert sorted(seen) == [(1, 1), (2, 2), (3, 3), (4, 4), (10, 10), (20, 20)]
