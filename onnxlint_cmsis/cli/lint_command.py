"""The command `lint`: files linted and fixed one after the other or in processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import FileResult, grouped
from onnxlint_cmsis.cli.options import (
    STDIN,
    STDIN_NAME,
    columns,
    configuration,
    discover,
    make_parser,
    say,
    standard_input,
    wants_color,
)
from onnxlint_cmsis.config.keys import matches_any
from onnxlint_cmsis.config.settings import adjust
from onnxlint_cmsis.formats.format import SUFFIXES, format_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.git_repository import ignored_by_git
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.plain import printable
from onnxlint_cmsis.output.run import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.results import FixResult
    from onnxlint_cmsis.config.files import Configuration
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.ground.workers import Ended, Task
    from onnxlint_cmsis.output.run import Run


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
        from onnxlint_cmsis.config.settings import enabled

        return code not in self.file.skipped and enabled(code, self.job.settings, self.job.path)


def lint_all(jobs: list[Job], processes: int) -> Iterator[Linted]:
    """Fix every file where that is asked for, and lint it; results come in the order of the jobs.

    Fixing runs ONNX Runtime, which can end its process, so that is always another one.
    """
    if any(job.fix for job in jobs) or (processes > 1 and len(jobs) > 1):
        yield from _in_processes(jobs, min(processes, len(jobs)))
    else:
        yield from map(lint_one, jobs)


def lint_one(job: Job, model: ModelAnalysis | None = None) -> Linted:
    """Lint one file, whose analysis may be at hand; an exception becomes the result's `error`."""
    from onnxlint_cmsis.linting import engine

    try:
        return Linted(job, engine.lint_file(job.path, job.settings, job.data, model))
    except Exception as error:
        return _failed(job, error)


def fix_one(job: Job) -> Linted:
    """Fix one file, and lint it where that is asked for; no `fix` where it is no model, which linting explains.

    An exception becomes the `error`.
    """
    from onnxlint_cmsis.fixers.fix_file import fix_file, unfixable
    from onnxlint_cmsis.linting import engine

    missing = unfixable(format_of(job.path))
    if missing:
        return _not_fixed(job, missing)
    try:
        fixed, model = fix_file(job.path, job.settings, write=job.fix != "diff")
        if fixed is None:
            return Linted(job, _nothing_said(job))
        if job.fix == "fix":
            linted = lint_one(job, model)
            return linted._replace(file=linted.file._replace(fix=fixed))
        named = engine.introduce(_nothing_said(job)._replace(fix=fixed), job.settings, model)
    except Exception as error:
        return _failed(job, error)
    if named is None:  # no rule asked for a fix, so that the file has not been read yet
        return Linted(job, _nothing_said(job))
    return Linted(job, named)


def _not_fixed(job: Job, reason: str) -> Linted:
    """A file that nothing can be proven of here; asking for it to be rewritten fails."""
    from onnxlint_cmsis.analysis.results import FixResult

    linted = lint_one(job) if job.fix == "fix" else Linted(job, _nothing_said(job))
    failed = job.fix != "diff"
    fix = FixResult(job.settings.fix_policy, changed=False, written=False, reason=reason, failed=failed)
    return linted._replace(file=linted.file._replace(fix=fix))


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


def _in_processes(jobs: list[Job], processes: int) -> Iterator[Linted]:
    from onnxlint_cmsis.ground.workers import each_done, team

    tasks = deque(_Step(number, job, None).task() for number, job in enumerate(jobs))
    finished: dict[int, Linted] = {}
    following = 0
    if any(job.fix for job in jobs):
        import onnxlint_cmsis.fixers.fix_file  # noqa: F401 - what the results are made of: once, before processes start
    with team(processes) as workers:
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
    from onnxlint_cmsis.analysis.results import FixResult

    reason = f"nothing is proven: its process ended {ended.how}"
    if "onnxruntime" in ended.packages:
        reason = f"nothing can be proven: ONNX Runtime ended its process {ended.how}"
    return FixResult(job.settings.fix_policy, changed=False, written=False, reason=reason, failed=True)


# Fixing one file for a Python program: in an interpreter apart, whatever threads and signals the program has.


def fix_apart(job: Job) -> FixResult | None:
    """What came of fixing a file; None where it is no model. Raises RuntimeError for an error inside."""
    # The caller's own search path, so that both find the same packages.
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(job), stdout=subprocess.PIPE, check=False)
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


# `onnxlint-cmsis [lint] PATHS`: lint model files.


def run(argv: list[str]) -> int:
    """Lint as the arguments say; the exit code."""
    args = make_parser().parse_args(argv)
    settings = configuration(args)
    paths = args.paths or ["."]

    def ignored(folder: str, files: list[str]) -> frozenset[str]:
        respected = settings.settings_for(folder).respect_gitignore
        return ignored_by_git(folder, files) if respected else frozenset()

    discovered = discover(
        paths,
        lambda path: matches_any(settings.settings_for(path).exclude, path),
        force_exclude=args.force_exclude,
        ignored=ignored,
    )
    for folder in discovered.empty:
        say(f"warning: no {' or '.join(SUFFIXES)} file in {folder}")
    for folder in discovered.unreadable:
        say(f"error: {folder}")
    least = 2 if discovered.unreadable else 0
    if args.show_files:
        _print("".join(f"{printable(path)}\n" for path in discovered.files))
        return least
    mode = _mode(args)
    files = _distinct(discovered.files) if mode else discovered.files
    _check_outputs(args, files)
    jobs = [_job(path, settings, args)._replace(fix=mode) for path in files]
    leading = jobs[0].settings if jobs else settings.settings_for(STDIN_NAME)
    if args.show_settings:
        from onnxlint_cmsis.cli.config_command import settings_lines

        return _print("".join(f"{line}\n" for line in settings_lines(leading)))
    _check_baselines(jobs)
    return _report(args, _lint(args, jobs), leading, least)


def _mode(args: argparse.Namespace) -> str:
    """What to do with each file besides linting; see Job.fix."""
    wanted = "fix-only" if args.fix_only else "fix" if args.fix else ""
    mode = "diff" if args.diff else "" if args.no_fix else wanted
    if mode and STDIN in args.paths:
        raise UsageError("standard input cannot be fixed: name the file")
    if mode and args.write_baseline:
        raise UsageError("--write-baseline cannot go with --fix, --fix-only or --diff")
    return mode


def _distinct(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths without those that lead to the same file again, which two processes would rewrite at once."""
    first: dict[str, str] = {}
    for path in paths:
        first.setdefault(os.path.realpath(path), path)
    return tuple(first.values())


def _check_outputs(args: argparse.Namespace, paths: tuple[str, ...]) -> None:
    """Raise UsageError where a report or baseline would take the place of a model."""
    read = {os.path.realpath(path): path for path in paths if path != STDIN}
    for option, written in (("--output-file", args.output_file), ("--write-baseline", args.write_baseline)):
        if written and os.path.realpath(written) in read:
            raise UsageError(f"{option} {written} is one of the models: name another file")


def _job(path: str, configuration: Configuration, args: argparse.Namespace) -> Job:
    name = args.stdin_filename if path == STDIN else path
    settings = configuration.settings_for(name)
    if args.write_baseline:  # a new baseline owes nothing to an old one
        settings = replace(settings, baseline="")
    return Job(name, settings, standard_input() if path == STDIN else None)


def _check_baselines(jobs: list[Job]) -> None:
    """Raise BaselineError for a baseline that cannot be read, before any file is looked at or fixed."""
    used = {job.settings.baseline for job in jobs} - {""}
    if used:
        from onnxlint_cmsis.config import accepted

        for path in used:
            accepted.read(path)


def _lint(args: argparse.Namespace, jobs: list[Job]) -> list[Linted]:
    """Lint, and tell standard error what went wrong inside."""
    from onnxlint_cmsis.cli.options import ProgressLine

    fixing = any(job.fix for job in jobs)  # which searches and proves, for minutes where a model is large
    linted, progress = [], ProgressLine(len(jobs), least=1 if fixing else 2)
    progress.at(jobs[0].path if jobs else "")
    for lint in lint_all(jobs, args.jobs):
        linted.append(lint)
        progress.step(lint.job.path)
        if args.verbose:
            print(printable(f"{lint.job.path}: settings from {lint.job.settings.file or 'defaults'}"), file=sys.stderr)
        if lint.file.error:
            say(f"{lint.job.path}: internal error: {lint.file.error}; please report it (-v shows where)")
            if args.verbose:
                print("\n".join(map(printable, lint.trace.splitlines())), file=sys.stderr)
        elif not lint.file.readable and not lint.file.findings:
            say(f"{lint.job.path}: it could not be read, and the rule that says why does not run")
    progress.close()
    return linted


def _report(args: argparse.Namespace, linted: list[Linted], leading: Settings, least: int) -> int:
    """Write the report, or the new baseline; the exit code, `least` or a larger one."""
    from onnxlint_cmsis.output.formats import render

    if args.write_baseline:
        return max(least, _write_baseline(args, linted))
    outcome = conclude(linted, leading.output_format)
    code = max(least, _exit_code(args, outcome))
    run_ = _run(args, linted, outcome, leading, code)
    text = render(leading.output_format, run_)
    if args.output_file:
        from onnxlint_cmsis.ground.atomic import write_text

        write_text(args.output_file, text)
    else:
        _print(text)
    if args.statistics and leading.output_format not in ("full", "concise", "json"):
        from onnxlint_cmsis.output.run import statistics_lines

        print("\n".join(statistics_lines(run_)), file=sys.stderr)
    return code


def _exit_code(args: argparse.Namespace, outcome: RunOutcome) -> int:
    """The run's exit code, with what the options make of fixes and findings."""
    changed = any(file.fix and file.fix.changed for file in outcome.files)
    code = outcome.exit_code
    if changed and (args.diff or args.exit_non_zero_on_fix):
        code = max(code, 1)
    return 0 if args.exit_zero and code == 1 else code


def _run(args: argparse.Namespace, linted: list[Linted], outcome: RunOutcome, leading: Settings, code: int) -> Run:
    from onnxlint_cmsis.output.run import Run

    targets = [target for lint in linted for target in lint.job.settings.targets] or leading.targets
    return Run(
        files=outcome.files,
        targets=tuple(dict.fromkeys(target.label for target in targets)),
        exit_code=code,
        folder=str(Path.cwd()),
        hidden=outcome.hidden,
        color=not args.output_file and wants_color(args.color, sys.stdout),
        width=columns(),
        full_names=args.full_names,
        explain=args.explain,
        quiet=args.quiet,
        statistics=args.statistics,
        category=args.sarif_category,
        linted=_mode(args) in ("", "fix"),
        diff=args.diff,
    )


def _write_baseline(args: argparse.Namespace, linted: list[Linted]) -> int:
    """Write the findings of every readable file as the baseline."""
    from onnxlint_cmsis.config import accepted
    from onnxlint_cmsis.output.plain import counted

    readable = [lint for lint in linted if lint.file.readable and not lint.file.error]
    number = accepted.write(args.write_baseline, [(lint.job.path, lint.file.findings) for lint in readable])
    if not args.quiet:
        told = f"{counted(number, 'finding')} in {counted(len(readable), 'file')} written to {args.write_baseline}"
        _print(f"{printable(told)}\n")
    return 2 if exit_code(lint.file for lint in linted) == 2 else 0


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


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
        (lint.file._replace(path=shown(lint.job.path, folder), findings=findings), lint.job.settings)
        for lint, findings in zip(linted, new, strict=True)
    ]
    every = [*models, *_grouped([*_unused_suppressions(linted), *about_baselines])]
    joined = [(result._replace(findings=grouped(result.findings)), settings) for result, settings in every]
    files = tuple(_visible(result, settings, output_format) for result, settings in joined)
    hidden = tuple(finding for file in files for finding in file.hidden)
    return RunOutcome(files, hidden, exit_code(files))


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
