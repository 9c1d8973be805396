"""`onnxlint-cmsis [lint] PATHS`: lint model files."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis import __version__
from onnxlint_cmsis.commands.discover import STDIN, discover
from onnxlint_cmsis.commands.lint_jobs import Job, lint_all
from onnxlint_cmsis.commands.options import PROGRAM, CommandParser, add_keys, configuration
from onnxlint_cmsis.config.globs import matches_any
from onnxlint_cmsis.errors import UsageError

if TYPE_CHECKING:
    from onnxlint_cmsis.commands.lint_jobs import Linted
    from onnxlint_cmsis.commands.outcome import RunOutcome
    from onnxlint_cmsis.config.resolve import Configuration
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.reporters.report_run import Run

DESCRIPTION = "Tell what CMSIS-NN will do with ONNX models on a Cortex-M: kernels, errors, wrong results, missed speed."
EPILOG = """Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage error, unreadable file or internal error.
With --fix the findings are those that remain; with --diff 1 means that a file would change.
Other commands: rule (explain a rule), route (kernel of a shape), cost (instructions of a layer), layers (kernel of
every layer), memory (arena of a .tflite model), compare (two versions of a model),
config-schema.
`onnxlint-cmsis COMMAND --help` explains each; ./layers is a folder or file of a command's name."""
STDIN_NAME = "<stdin>"


def run(argv: list[str]) -> int:
    """Lint as the arguments say; the exit code."""
    args = make_parser().parse_args(argv)
    settings = configuration(args)
    found = discover(
        args.paths,
        lambda path: matches_any(settings.settings_for(path).exclude, path),
        force_exclude=args.force_exclude,
    )
    for folder in found.empty:
        print(f"{PROGRAM}: warning: no .onnx or .tflite file in {folder}", file=sys.stderr)
    if args.show_files:
        return _print("".join(f"{path}\n" for path in found.files))
    mode = _mode(args)
    files = _each_once(found.files) if mode else found.files
    _check_outputs(args, files)
    jobs = [_job(path, settings, args)._replace(fix=mode) for path in files]
    leading = jobs[0].settings if jobs else settings.settings_for(STDIN_NAME)
    if args.show_settings:
        from onnxlint_cmsis.commands.show_settings import settings_lines

        return _print("".join(f"{line}\n" for line in settings_lines(leading)))
    if not args.paths:
        raise UsageError("no paths; name .onnx or .tflite files, folders to search, or - for standard input")
    _check_baselines(jobs)
    return _report(args, _lint(args, jobs), leading)


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("", DESCRIPTION, epilog=EPILOG, usage="%(prog)s [lint] [options] PATHS")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    text = "model files, folders to search for .onnx and .tflite files, - for standard input"
    add("paths", nargs="*", metavar="PATHS", help=text)
    add("--version", action="version", version=f"{PROGRAM} {__version__}")
    add("--stdin-filename", metavar="NAME", default=STDIN_NAME, help="what to call standard input")
    add("--force-exclude", action="store_true", help="leave excluded files out even where they are named")
    add("--jobs", type=_jobs, default=1, metavar="N", help="processes to lint and fix several files with. Default: 1.")
    add("--exit-zero", action="store_true", help="exit with 0 even when there are findings")
    add("--fix", action="store_true", help="rewrite files so that they cost less and compute the same, after proof")
    add("--diff", action="store_true", help="show what --fix would do and touch nothing; exit with 1 if it would")
    add("--fix-only", action="store_true", help="fix, and report no findings; exit with 0 unless something failed")
    add("--exit-non-zero-on-fix", action="store_true", help="exit with 1 where a file was fixed")
    add("--output-file", metavar="FILE", default="", help="write the report there instead of standard output")
    add("--write-baseline", metavar="FILE", default="", help="accept all present findings: write them as a baseline")
    add("--statistics", action="store_true", help="add the number of findings per rule and per level")
    add("--sarif-category", metavar="NAME", default="", help="category of the run in SARIF, where several are uploaded")
    add("--show-settings", action="store_true", help="print the settings of the first file and where they come from")
    add("--show-files", action="store_true", help="print the files that would be linted")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colour the text. Default: auto.")
    add("--full-names", action="store_true", help="show names as they stand in the file, not their short forms")
    add("--explain", action="store_true", help="tell kernel, source, reason and evidence of each finding")
    add("-q", "--quiet", action="store_true", help="print findings only: no summary, no notes about files")
    add_keys(parser)
    return parser


def _mode(args: argparse.Namespace) -> str:
    """What to do with each file besides linting; see Job.fix."""
    mode = "diff" if args.diff else "fix-only" if args.fix_only else "fix" if args.fix else ""
    if mode and STDIN in args.paths:
        raise UsageError("standard input cannot be fixed: name the file")
    if mode and args.write_baseline:
        raise UsageError("--write-baseline cannot go with --fix, --fix-only or --diff")
    return mode


def _each_once(paths: tuple[str, ...]) -> tuple[str, ...]:
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


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _job(path: str, configuration: Configuration, args: argparse.Namespace) -> Job:
    name = args.stdin_filename if path == STDIN else path
    settings = configuration.settings_for(name)
    if args.write_baseline:  # a new baseline owes nothing to an old one
        settings = replace(settings, baseline="")
    return Job(name, settings, sys.stdin.buffer.read() if path == STDIN else None)


def _check_baselines(jobs: list[Job]) -> None:
    """Raise BaselineError for a baseline that cannot be read, before any file is looked at or fixed."""
    used = {job.settings.baseline for job in jobs} - {""}
    if used:
        from onnxlint_cmsis.accepted import baseline

        for path in used:
            baseline.read(path)


def _lint(args: argparse.Namespace, jobs: list[Job]) -> list[Linted]:
    """Lint, and tell standard error what went wrong inside."""
    linted = []
    for each in lint_all(jobs, args.jobs):
        linted.append(each)
        if args.verbose:
            print(f"{each.job.path}: settings from {each.job.settings.file or 'defaults'}", file=sys.stderr)
        if each.file.error:
            _complain(f"{each.job.path}: internal error: {each.file.error}; please report it (-v shows where)")
            if args.verbose:
                print(each.trace, file=sys.stderr)
        elif not each.file.readable and not each.file.findings:
            _complain(f"{each.job.path}: it could not be read, and the rule that says why does not run")
    return linted


def _complain(text: str) -> None:
    from onnxlint_cmsis.reporters.plain import printable

    print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


def _report(args: argparse.Namespace, linted: list[Linted], leading: Settings) -> int:
    """Write the report, or the new baseline; the exit code."""
    from onnxlint_cmsis.commands.outcome import conclude
    from onnxlint_cmsis.reporters import render

    if args.write_baseline:
        return _write_baseline(args, linted)
    outcome = conclude(linted, leading.output_format)
    code = _exit_code(args, outcome)
    run_ = _run(args, linted, outcome, leading, code)
    text = render(leading.output_format, run_)
    if args.output_file:
        from onnxlint_cmsis.atomic import write_text

        write_text(args.output_file, text)
    else:
        _print(text)
    if args.statistics and leading.output_format not in ("full", "concise", "json"):
        from onnxlint_cmsis.reporters.statistics import statistics_lines

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
    from onnxlint_cmsis.commands.terminal import columns, wants_color
    from onnxlint_cmsis.reporters.report_run import Run

    targets = [target for each in linted for target in each.job.settings.targets] or leading.targets
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
    from onnxlint_cmsis.accepted import baseline
    from onnxlint_cmsis.commands.outcome import exit_code
    from onnxlint_cmsis.reporters.plain import counted

    readable = [each for each in linted if each.file.readable and not each.file.error]
    number = baseline.write(args.write_baseline, [(each.job.path, each.file.findings) for each in readable])
    if not args.quiet:
        _print(f"{counted(number, 'finding')} in {counted(len(readable), 'file')} written to {args.write_baseline}\n")
    return 2 if exit_code(each.file for each in linted) == 2 else 0


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0
