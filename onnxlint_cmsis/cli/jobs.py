"""The files of a run: fixed and linted one after the other or in processes, and what the run concludes from them."""

from __future__ import annotations

import os
import pickle
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.grouped import grouped
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.config.selection import adjust, fixable
from onnxlint_cmsis.formats.format import file_of, format_of, is_image, part
from onnxlint_cmsis.ground.atomic_write import remove_leftovers, write_bytes
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.output.run import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.analysis.proof_results import Proof
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.proof.models import ProofRuntime
    from onnxlint_cmsis.fixers.snapshot import Snapshot
    from onnxlint_cmsis.formats.format import Format
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.ground.types import InputShapes
    from onnxlint_cmsis.ground.workers import Ended, Task


# The files of a run, fixed and linted one after the other or in processes; an error in one does not end the others.


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
        """Whether a rule ran on the file."""
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
    missing = f"{form.suffix} files are not fixed: {form.unfixed}"
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
        """Whether fixing it is next, not linting it."""
        return bool(self.job.fix) and self.fixed is None

    def task(self) -> Task:
        """The step as a worker gets it."""
        from onnxlint_cmsis.ground.workers import Task

        return Task(fix_one if self.fixes else lint_one, self.job, self)


def _to_lint(fixed: Linted, answer: Linted | Ended) -> bool:
    """Whether a file that went through fixing has still to be linted."""
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


# Two versions of a model, run beside each other.


class BothVersions(NamedTuple):
    """What is run: two versions, and the sizes that their inputs leave open."""

    format: Format
    """Format of the first."""
    path: str
    """Its path, beside which the external data of both lie."""
    old: bytes
    """Its bytes."""
    new_format: Format
    """Format of the second."""
    new: bytes
    """Its bytes."""
    input_shapes: InputShapes
    """Sizes of inputs."""


def outputs_of_both(given: BothVersions) -> Proof:
    """Compare the outputs of two versions on the inputs of a proof, in another process, which a runtime may end."""
    from onnxlint_cmsis.ground.workers import Ended, team

    with team(1) as (worker,):
        worker.give(_compared, given)
        answer = worker.take()
    return _not_compared(f"their process ended {answer.how}") if isinstance(answer, Ended) else answer


def _compared(given: BothVersions) -> Proof:
    from onnxlint_cmsis.fixers.proof.models import proven_model
    from onnxlint_cmsis.fixers.proof.prove import Prover

    if given.format.name != given.new_format.name:
        return _not_compared("the files are of two formats")
    if not given.format.prover:
        return _not_compared(f"nothing here runs {given.format.suffix} files")
    runtime: ProofRuntime = part(given.format.prover)
    if missing := runtime.missing():
        return _not_compared(missing)
    try:
        path = Path(given.path)
        return Prover(lambda: proven_model(given.old, path), path, given.input_shapes).outputs(given.new)
    except (NotAppliedError, ModelError) as error:
        return _not_compared(str(error))


def _not_compared(reason: str) -> Proof:
    from onnxlint_cmsis.analysis.proof_results import Proof

    return Proof(False, reason, False, (), 0)


# Fixing one file: worked out and proven in memory, then put in its place, whole or not at all.


def replace_file(path: str | Path, new: bytes, *, expected: bytes | None = None) -> None:
    """Replace a model's bytes; any failure and any signal leaves the old ones and no other file.

    `new` is a serialized model that has been proven. Tensors in external files that did not change still point to
    them, and those files are not touched; changed ones are part of the model now. With `expected`, the file must
    still hold these bytes. Raises OSError, also for a file that is not writable.
    """
    target = Path(path).resolve(strict=True)
    if not target.is_file():
        raise OSError(f"{path} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is not writable")

    def check(written: Path) -> None:
        if written.read_bytes() != new:
            raise OSError(f"{path}: the file read back differs from the bytes written")
        if expected is not None and target.read_bytes() != expected:
            raise OSError(f"{path} was changed by someone else meanwhile")

    write_bytes(target, new, check=check)


class FixedFile(NamedTuple):
    """Result of fixing one file."""

    result: FixResult | None
    """What was done; None where the file cannot be read as a model, which linting explains."""
    state: Snapshot | None = None
    """What the file holds now, with its analysis; None where that is not at hand."""


def fix_file(path: str, settings: Settings, *, write: bool) -> FixedFile:
    """Fix a file; with `write`, replace it."""
    from onnxlint_cmsis.analysis.fix_results import FixResult
    from onnxlint_cmsis.cli.engine import fix_request
    from onnxlint_cmsis.fixers.fix_model import fix_model
    from onnxlint_cmsis.fixers.planning.policies import POLICIES
    from onnxlint_cmsis.formats.onnx.opening import open_buffer

    policy = settings.fix_policy
    rules = POLICIES[policy].rules
    if fixable(settings, path).isdisjoint(rules):
        *groups, last = dict.fromkeys(f"{code[:4]}xx" for code in sorted(rules))
        kinds = f"{', '.join(groups)} and {last}" if groups else last
        reason = f"the rules that --fix-policy {policy} acts on, {kinds}, do not run on it or are not fixable"
        return FixedFile(FixResult(policy, changed=False, written=False, reason=reason, failed=False))
    if write:
        remove_leftovers(Path(path))
    try:
        data, names = open_buffer(path)[:], Path(path).stat().st_nlink
        fixed = fix_model(path, data, fix_request(settings, path))
    except (OSError, ModelError):
        return FixedFile(None)
    result = fixed.result
    if fixed.model is None:
        return FixedFile(result, fixed.end)
    if write:
        try:
            replace_file(path, fixed.model, expected=data)
            result = result._replace(written=True)
        except OSError as error:
            reason = f"the fixed model could not be written: {error.strerror or error}"
            result = result._replace(changed=False, failed=True, reason=reason)
    others, keep = names - 1, "keep" if result.written else "would keep"
    if result.changed and others == 1:
        keeps = "keeps" if result.written else keep
        note = f"the file has another name (hard link), which {keeps} the old bytes"
        result = result._replace(notes=(*result.notes, note))
    elif result.changed and others > 1:
        note = f"the file has {others} other names (hard links), which {keep} the old bytes"
        result = result._replace(notes=(*result.notes, note))
    return FixedFile(result, fixed.end if result.written else None)


# Fixing one file for a Python program: in an interpreter apart, whatever threads and signals the program has.


def fix_apart(job: Job) -> FixResult | None:
    """What came of fixing a file; None where it is no model. Raises RuntimeError for an error inside."""
    import subprocess

    # The caller's own search path, so that both find the same packages; isolated, so that nothing else is found first.
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=pickle.dumps(job), stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{job.path}: the process that fixes it ended with exit code {done.returncode}")
    (linted,) = pickle.loads(done.stdout)
    if linted.file.error:
        raise RuntimeError(f"{job.path}: internal error: {linted.file.error}; please report it")
    fixed: FixResult | None = linted.file.fix
    return fixed


def serve() -> None:
    """Fix the file of the job on standard input as the command does; the results go to standard output."""
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not end up among the results
    results = list(lint_all([pickle.load(sys.stdin.buffer)], 1))
    with os.fdopen(answer, "wb") as stream:
        pickle.dump(results, stream)


# From what the engine said to what a run reports: baseline, unused entries, hidden levels, exit code.


class RunOutcome(NamedTuple):
    """What a run reports."""

    files: tuple[FileResult, ...]
    """Models, then configuration and baseline files that findings are about."""
    hidden: tuple[Finding, ...]
    """Findings below the level that is shown."""
    exit_code: int
    """0 clean, 1 findings, 2 something could not be linted."""


def conclude(linted: list[Linted], output_format: str) -> RunOutcome:
    """Lay the baselines over the results, add what is unused, join equal causes, hide what is not to be shown."""
    new, about_baselines = _beyond_baseline(linted)
    folder = str(Path.cwd())
    models = [
        (_accepting(lint.file._replace(path=shown(lint.job.path, folder)), findings), lint.job.settings)
        for lint, findings in zip(linted, new, strict=True)
    ]
    every = [*models, *_grouped([*_unused_suppressions(linted), *about_baselines])]
    joined = [(result._replace(findings=grouped(result.findings)), settings) for result, settings in every]
    files = tuple(_visible(result, settings, output_format) for result, settings in joined)
    hidden = tuple(finding for file in files for finding in file.hidden)
    return RunOutcome(files, hidden, exit_code(files))


def _accepting(result: FileResult, new: tuple[Finding, ...]) -> FileResult:
    """The result with the findings that its baseline does not have; its verdicts say how many are accepted."""
    accepted = dict(result.statistics).get("suppressed", 0) + len(result.findings) - len(new)
    said = tuple(verdict._replace(accepted=accepted) for verdict in result.verdicts)
    return result._replace(findings=new, verdicts=said)


def exit_code(results: Iterable[FileResult]) -> int:
    """2 where a file could not be linted or fixed, else 1 where a finding is at or above its file's level, else 0."""
    code = 0
    for result in results:
        if result.error or not result.readable or (result.fix and result.fix.failed):
            return 2
        if any(finding.level >= result.fail_on for finding in result.told):
            code = 1
    return code


def _visible(result: FileResult, settings: Settings, output_format: str) -> FileResult:
    """The result with the findings apart that the format does not show."""
    shown = tuple(finding for finding in result.findings if settings.shows(finding, output_format))
    return result._replace(findings=shown, hidden=tuple(finding for finding in result.findings if finding not in shown))


def _beyond_baseline(linted: list[Linted]) -> tuple[list[tuple[Finding, ...]], list[tuple[Finding, Settings]]]:
    """The findings of each file that its baseline does not have, and those about the baselines themselves."""
    told = [lint for lint in linted if lint.job.settings.baseline and not lint.only_fixed]
    used = {lint.job.settings.baseline: lint.job.settings for lint in told}
    if not used:
        return [lint.file.findings for lint in linted], []
    from onnxlint_cmsis.config import accepted

    read = {path: accepted.read(path) for path in used}
    new = []
    for lint in linted:
        entries = read.get(lint.job.settings.baseline) if lint.file.readable else None
        new.append(accepted.remaining(entries, lint.job.path, lint.file.findings) if entries else lint.file.findings)
    about = []
    for path, settings in used.items():
        mine = [lint for lint in told if lint.job.settings.baseline == path]
        sound = [lint for lint in mine if lint.file.readable and not lint.file.error]
        finished = [accepted.Told(lint.job.path, lint.file.findings, lint.ran) for lint in sound]
        about += [(finding, settings) for finding in accepted.unused(read[path], finished)]
    return new, about


def _unused_suppressions(linted: list[Linted]) -> list[tuple[Finding, Settings]]:
    """A finding on each configuration entry that matches nothing in the files it covers, all of which were analysed."""
    from onnxlint_cmsis.config.accepted import concerns

    hits: dict[str, int] = {}
    files: dict[str, int] = {}
    entries = {entry.origin: (entry, lint.job.settings) for lint in linted for entry in lint.job.settings.suppress}
    unknown = {
        entry.origin
        for lint in linted
        for entry in lint.job.settings.suppress
        if (lint.file.error or not lint.file.readable or concerns(entry, lint.file.skipped))
        and (entry.path is None or entry.path.matches(lint.job.path))
    }
    for lint in linted:
        for origin in entries.keys() & lint.file.matches.keys():
            hits[origin] = hits.get(origin, 0) + lint.file.matches[origin]
            files[origin] = files.get(origin, 0) + 1
    return [
        (_unused(origin, files[origin], entry.rule, settings), settings)
        for origin, (entry, settings) in entries.items()
        if hits.get(origin) == 0 and origin not in unknown
    ]


def _unused(origin: str, files: int, rule: str, settings: Settings) -> Finding:
    from onnxlint_cmsis.config.accepted import unused_finding
    from onnxlint_cmsis.ground.findings import Location
    from onnxlint_cmsis.output.plain import counted

    entry = origin.rpartition(": ")[2]
    message = f"{entry} of {rule} matches no finding in the {counted(files, 'file')} it covers in this run"
    return unused_finding(message, Location(settings.file))


def _grouped(findings: list[tuple[Finding, Settings]]) -> list[tuple[FileResult, Settings]]:
    """Findings about configuration and baseline files, file by file, as far as their rules are selected."""
    groups: dict[str, tuple[Settings, list[Finding]]] = {}
    for finding, settings in findings:
        adjusted = adjust(finding, settings)
        if adjusted:
            groups.setdefault(finding.location.path, (settings, []))[1].append(adjusted)
    folder = str(Path.cwd())
    return [
        (FileResult(shown(path, folder), tuple(findings), settings.fail_on, model=False), settings)
        for path, (settings, findings) in groups.items()
    ]
