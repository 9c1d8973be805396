"""The files of a run, fixed and linted one after the other or in processes; an error in one does not end the others."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.result import FixResult
    from onnxlint_cmsis.types import Finding


class Job(NamedTuple):
    """One file to lint."""

    path: str
    """The file, or the name standard input goes by."""
    settings: Settings
    """What it is linted with."""
    data: bytes | None = None
    """Content, where it does not come from the file."""
    fix: str = ""
    """`fix` to fix the file first, `fix-only` to do nothing else, `diff` to find out what a fix would do."""


class Linted(NamedTuple):
    """What the engine said about one file."""

    job: Job
    """The file."""
    findings: tuple[Finding, ...] = ()
    """After selection, levels and suppressions."""
    readable: bool = True
    """False where there was no model to analyse."""
    notes: tuple[str, ...] = ()
    """How it was read."""
    statistics: dict[str, int] = {}  # noqa: RUF012
    """Counts by name."""
    error: str = ""
    """Internal error, in one line."""
    trace: str = ""
    """Where the internal error happened."""
    fix: FixResult | None = None
    """What came of fixing it."""
    skipped: tuple[str, ...] = ()
    """Codes of rules that did not run because the model is too large for them."""

    @property
    def only_fixed(self) -> bool:
        """True where its findings were not asked for."""
        return self.fix is not None and self.job.fix != "fix"

    def ran(self, code: str) -> bool:
        """Whether a rule ran on the file."""
        from onnxlint_cmsis.config.codes import enabled

        return code not in self.skipped and enabled(code, self.job.settings, self.job.path)


def lint_all(jobs: list[Job], processes: int) -> Iterator[Linted]:
    """Lint every file; results come in the order of the jobs."""
    if processes > 1 and len(jobs) > 1:
        yield from _in_processes(jobs, min(processes, len(jobs)))
    else:
        yield from map(lint_one, jobs)


def lint_one(job: Job) -> Linted:
    """Fix one file where that is asked for, and lint it; an exception becomes the result's `error`."""
    from onnxlint_cmsis import engine

    try:
        fixed = _fixed(job)
        if fixed is not None and job.fix != "fix":
            return Linted(job, fix=fixed)
        report = engine.lint_file(job.path, job.settings, job.data)
    except Exception as error:
        import traceback

        return Linted(job, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    return Linted(
        job, report.findings, report.readable, report.notes, report.statistics, fix=fixed, skipped=report.skipped
    )


def _fixed(job: Job) -> FixResult | None:
    """What came of fixing the file; None where nothing was asked for or it is no model, which linting explains."""
    if not job.fix:
        return None
    from onnxlint_cmsis.fixers.file import fix_file

    return fix_file(job.path, job.settings, write=job.fix != "diff")


def _in_processes(jobs: list[Job], processes: int) -> Iterator[Linted]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with _ended_by_signal(), ProcessPoolExecutor(processes) as pool:
        for job, future in [(job, pool.submit(lint_one, job)) for job in jobs]:
            try:
                yield future.result()
            except BrokenProcessPool:
                yield Linted(job, error="a worker process was ended from outside; try --jobs 1")
            except (KeyboardInterrupt, SystemExit):
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Make SIGTERM end the run as Ctrl-C does, so that no worker goes on without it."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
