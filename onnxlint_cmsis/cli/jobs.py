"""The files of a run, fixed and linted one after the other or in processes; an error in one does not end the others."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.formats.format import file_of, format_of, is_image, part
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.proof.models import ProofRuntime
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.ground.workers import Ended, Task


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
    """What came of one job."""

    job: Job
    """The file and how it was linted."""
    file: FileResult
    """What was said of it."""
    trace: str = ""
    """Where an internal error happened."""

    @property
    def only_fixed(self) -> bool:
        """True where its findings were not asked for."""
        return self.file.fix is not None and self.job.fix != "fix"

    def ran(self, code: str) -> bool:
        """Tell whether a rule ran on the file."""
        from onnxlint_cmsis.config.selection import enabled

        return code not in self.file.skipped and enabled(code, self.job.settings, self.job.path)


def lint_all(jobs: list[Job], processes: int) -> Iterator[Linted]:
    """Fix every file where that is asked for, and lint it; results come in the order of the jobs.

    Fixing runs ONNX Runtime, which can end its process, so that is always another one.
    """
    if any(job.fix for job in jobs) or (processes > 1 and len(jobs) > 1):
        from onnxlint_cmsis.ground.workers import each_done, team

        tasks = deque(_Step(number, job, None).task() for number, job in enumerate(jobs))
        finished: dict[int, Linted] = {}
        following = 0
        if any(job.fix for job in jobs):
            import onnxlint_cmsis.fixers.fix_model  # noqa: F401 - what the results are made of: once, before processes start
        with team(min(processes, len(jobs))) as workers:
            for task, answer in each_done(workers, tasks):
                step: _Step = task.label
                linted = _outcome(step, answer)
                if step.fixes and _to_lint(linted, answer):
                    tasks.appendleft(step._replace(fixed=linted).task())
                    continue
                finished[step.number] = linted
                while following in finished:
                    yield finished.pop(following)
                    following += 1
    else:
        yield from map(lint_one, jobs)


def lint_one(job: Job, state: Snapshot | None = None) -> Linted:
    """Lint one file, of which a fix may have left what it knows; an exception becomes the result's `error`."""
    from onnxlint_cmsis.cli import engine

    try:
        model, prices = (state.analysis, state.prices) if state else (None, None)
        return Linted(job, engine.lint_file(job.path, job.settings, job.data, model, prices))
    except Exception as error:
        return _failed(job, error)


def fix_one(job: Job) -> Linted:
    """Fix one file, and lint it where that is asked for; no `fix` where it is no model, which linting explains.

    An exception becomes the `error`.
    """
    from onnxlint_cmsis.cli import engine

    form = format_of(job.path)
    missing: str | None = f"{form.suffix} files are not fixed: {form.unfixed}"
    if file_of(job.path) != job.path:
        what = "models in images" if is_image(file_of(job.path)) else "arrays of C files"
        again = "build" if is_image(file_of(job.path)) else "make the array"
        missing = f"{what} are not fixed: fix the {form.suffix} file, and {again} again"
    elif form.editor and form.prover:
        runtime: ProofRuntime = part(form.prover)
        missing = runtime.missing()
    if missing:
        from onnxlint_cmsis.analysis.fix_results import FixResult

        linted = lint_one(job) if job.fix == "fix" else Linted(job, _nothing_said(job))
        failed = job.fix != "diff"
        fix = FixResult(job.settings.fix_policy, changed=False, written=False, reason=missing, failed=failed)
        return linted._replace(file=linted.file._replace(fix=fix))
    try:
        from onnxlint_cmsis.cli.file_fix import fix_file

        fixed, state = fix_file(job.path, job.settings, write=job.fix != "diff")
        if fixed is None:
            return Linted(job, _nothing_said(job))
        if job.fix == "fix":
            linted = lint_one(job, state)
            return linted._replace(file=linted.file._replace(fix=fixed))
        analysis = state.analysis if state else None
        named = engine.introduce(_nothing_said(job)._replace(fix=fixed), job.settings, analysis)
    except Exception as error:
        return _failed(job, error)
    if named is None:  # no rule asked for a fix, so that the file has not been read yet
        return Linted(job, _nothing_said(job))
    return Linted(job, named)


def _nothing_said(job: Job) -> FileResult:
    """The result of a file that was not linted."""
    return FileResult(job.path, (), job.settings.fail_on)


def _failed(job: Job, error: Exception) -> Linted:
    import traceback

    file = _nothing_said(job)._replace(error=f"{type(error).__name__}: {error}")
    return Linted(job, file, "".join(traceback.format_exception(error)))


class _Step(NamedTuple):
    """What is to be done next about one file."""

    number: int
    """Place among the jobs."""
    job: Job
    """The file."""
    fixed: Linted | None
    """What came of fixing it, where that is done."""

    @property
    def fixes(self) -> bool:
        """Tell whether fixing it is next, not linting it."""
        return bool(self.job.fix) and self.fixed is None

    def task(self) -> Task:
        """The step as a worker gets it."""
        from onnxlint_cmsis.ground.workers import Task

        return Task(fix_one if self.fixes else lint_one, self.job, self)


def _to_lint(fixed: Linted, answer: Linted | Ended) -> bool:
    """Tell whether a file that went through fixing has still to be linted."""
    ended = answer is not fixed
    return not fixed.file.error and (fixed.file.fix is None or (ended and fixed.job.fix == "fix"))


def _outcome(step: _Step, answer: Linted | Ended) -> Linted:
    """The result of fixing, or that of linting with what came of fixing."""
    from onnxlint_cmsis.ground.workers import Ended

    fix = step.fixed.file.fix if step.fixed else None
    if not isinstance(answer, Ended):
        return answer if step.fixes else answer._replace(file=answer.file._replace(fix=fix))
    if step.fixes:
        return Linted(step.job, _nothing_said(step.job)._replace(fix=_unproven(step.job, answer)))
    return Linted(step.job, _nothing_said(step.job)._replace(error=f"its process ended {answer.how}", fix=fix))


def _unproven(job: Job, ended: Ended) -> FixResult:
    """A file whose fix took its process along."""
    from onnxlint_cmsis.analysis.fix_results import FixResult

    reason = f"nothing is proven: its process ended {ended.how}"
    if "onnxruntime" in ended.packages:
        reason = f"nothing can be proven: ONNX Runtime ended its process {ended.how}"
    return FixResult(job.settings.fix_policy, changed=False, written=False, reason=reason, failed=True)
