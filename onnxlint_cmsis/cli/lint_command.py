"""`onnxlint-cmsis [lint] PATHS`: lint and fix model files."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy  # noqa: F401 - here, where calls are not nested deeply: CPython 3.11 maps a page anew for each call deeper

from onnxlint_cmsis.cli.conclusion import RunOutcome, conclude, exit_code
from onnxlint_cmsis.cli.discovery import STDIN, STDIN_NAME, discover, images_in, standard_input
from onnxlint_cmsis.cli.jobs import Job, Linted, lint_all
from onnxlint_cmsis.cli.lint_options import make_parser
from onnxlint_cmsis.cli.options import configuration
from onnxlint_cmsis.cli.terminal import columns, say, wants_color
from onnxlint_cmsis.config.files import Configuration
from onnxlint_cmsis.config.path_patterns import matches_any
from onnxlint_cmsis.config.settings import Settings
from onnxlint_cmsis.formats.format import ENDINGS, file_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import printable


def run(argv: list[str]) -> int:
    """Lint as the arguments say; the exit code."""
    args = make_parser().parse_args(argv)
    settings = configuration(args)
    paths = args.paths or ["."]

    def ignored(folder: str, files: list[str]) -> frozenset[str]:
        if not settings.settings_for(folder).respect_gitignore:
            return frozenset()
        from onnxlint_cmsis.ground.git_ignored import ignored_by_git

        return ignored_by_git(folder, files)

    discovered = discover(
        paths,
        lambda path: matches_any(settings.settings_for(path).exclude, path),
        force_exclude=args.force_exclude,
        ignored=ignored,
    )
    for folder in discovered.empty:
        image = next((f"; to lint firmware, name its file: {name}" for name in images_in(folder)), "")
        say(f"warning: no {ENDINGS} file in {folder}{image}")
    for folder in discovered.unreadable:
        say(f"error: {folder}")
    least = 2 if discovered.unreadable else 0
    if args.show_files:
        _print("".join(f"{printable(path)}\n" for path in discovered.files))
        return least
    mode = _mode(args)
    files = _with_firmware(_distinct(discovered.files) if mode else discovered.files, settings)
    _check_outputs(args, files)
    jobs = [_job(path, settings, args)._replace(fix=mode) for path in files]
    leading = jobs[0].settings if jobs else settings.settings_for(STDIN_NAME)
    if args.show_settings:
        from onnxlint_cmsis.cli.resolved_settings import settings_lines

        return _print("".join(f"{line}\n" for line in settings_lines(leading)))
    _check_files(jobs)
    return _report(args, _lint(args, jobs), leading, least)


def _with_firmware(paths: tuple[str, ...], settings: Configuration) -> tuple[str, ...]:
    """The files, and the firmware that their settings name behind them."""
    named = {settings.settings_for(path).firmware for path in paths if path != STDIN} - {""}
    if not named:
        return paths
    from onnxlint_cmsis.images.held_models import newest_build

    images = [os.path.relpath(newest_build(name).path) for name in sorted(named)]
    return tuple(dict.fromkeys((*paths, *images)))


def _mode(args: argparse.Namespace) -> str:
    """What to do with each file besides linting; see Job.fix."""
    wanted = "fix-only" if args.fix_only else "fix" if args.fix else ""
    mode = "diff" if args.diff else wanted
    if mode and STDIN in args.paths:
        raise UsageError("standard input cannot be fixed: name the file")
    if mode and args.write_baseline:
        raise UsageError("--write-baseline cannot go with --fix, --fix-only or --diff")
    if args.certificate and not mode:
        raise UsageError("--certificate goes with --fix, --fix-only or --diff")
    return mode


def _distinct(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths without those that lead to the same file again, which two processes would rewrite at once."""
    first: dict[str, str] = {}
    for path in paths:
        first.setdefault(os.path.realpath(path), path)
    return tuple(first.values())


def _check_outputs(args: argparse.Namespace, paths: tuple[str, ...]) -> None:
    """Raise UsageError where a report or baseline would take the place of a model."""
    read = {os.path.realpath(file_of(path)): path for path in paths if path != STDIN}
    for option in ("--output-file", "--write-baseline", "--certificate"):
        written = getattr(args, option[2:].replace("-", "_"))
        if written and os.path.realpath(written) in read:
            raise UsageError(f"{option} {written} is one of the models: name another file")


def _job(path: str, configuration: Configuration, args: argparse.Namespace) -> Job:
    piped = standard_input(args.stdin_filename) if path == STDIN else None
    name = piped.name if piped else path
    settings = configuration.settings_for(name)
    if args.write_baseline:  # a new baseline owes nothing to an old one
        settings = replace(settings, baseline="")
    return Job(name, settings, piped.data if piped else None)


def _check_files(jobs: list[Job]) -> None:
    """Raise UsageError for a baseline or timing that cannot be read, before any file is looked at or fixed."""
    if any(job.settings.timing for job in jobs):
        from onnxlint_cmsis.cli.api import refuse_unread

        for job in jobs:
            refuse_unread(job.settings)
    used = {job.settings.baseline for job in jobs} - {""}
    if used:
        from onnxlint_cmsis.config import baseline

        for path in used:
            baseline.read(path)


def _lint(args: argparse.Namespace, jobs: list[Job]) -> list[Linted]:
    """Lint, and tell standard error what went wrong inside."""
    from onnxlint_cmsis.cli.progress import ProgressLine

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
    from onnxlint_cmsis.output.run_results import Run

    if args.write_baseline:
        return max(least, _write_baseline(args, linted))
    outcome = conclude(linted, leading.output_format)
    code = max(least, _exit_code(args, outcome))
    targets = [target for lint in linted for target in lint.job.settings.targets] or leading.targets
    run_ = Run(
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
        verbose=args.verbose,
    )
    text = render(leading.output_format, run_)
    if args.output_file:
        from onnxlint_cmsis.ground.atomic_write import write_text

        write_text(args.output_file, text)
    else:
        _print(text)
    if args.certificate:
        _write_certificates(args.certificate, outcome)
    if args.statistics and leading.output_format not in ("full", "concise", "json"):
        from onnxlint_cmsis.output.statistics import statistics_lines

        print("\n".join(statistics_lines(run_)), file=sys.stderr)
    return code


def _write_certificates(path: str, outcome: RunOutcome) -> None:
    """Write the certificates of fixed files, or of what they would become."""
    from onnxlint_cmsis.cli.verify_command import VERSION
    from onnxlint_cmsis.ground.atomic_write import write_text
    from onnxlint_cmsis.output.fix_json import plain_data
    from onnxlint_cmsis.output.foreign_text import json_text

    fixes = [(file.path, file.fix.certificate) for file in outcome.files if file.fix and file.fix.certificate]
    certificates = [{"path": name, **plain_data(certificate)} for name, certificate in fixes]
    write_text(path, json_text({"version": VERSION, "certificates": certificates}))


def _exit_code(args: argparse.Namespace, outcome: RunOutcome) -> int:
    """The run's exit code, with what the options make of fixes and findings."""
    changed = any(file.fix and file.fix.changed for file in outcome.files)
    code = outcome.exit_code
    if changed and (args.diff or args.exit_non_zero_on_fix):
        code = max(code, 1)
    return 0 if args.exit_zero and code == 1 else code


def _write_baseline(args: argparse.Namespace, linted: list[Linted]) -> int:
    """Write the findings of every readable file as the baseline."""
    from onnxlint_cmsis.config import baseline
    from onnxlint_cmsis.output.foreign_text import counted

    readable = [lint for lint in linted if lint.file.readable and not lint.file.error]
    number = baseline.write(args.write_baseline, [(lint.job.path, lint.file.findings) for lint in readable])
    if not args.quiet:
        told = f"{counted(number, 'finding')} in {counted(len(readable), 'file')} written to {args.write_baseline}"
        _print(f"{printable(told)}\n")
    return 2 if exit_code(lint.file for lint in linted) == 2 else 0


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0
