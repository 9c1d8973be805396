"""Options of `onnxlint-cmsis [lint] PATHS`."""

from __future__ import annotations

import argparse

from onnxlint_cmsis.cli import command_help
from onnxlint_cmsis.cli.discovery import STDIN_NAME
from onnxlint_cmsis.cli.options import CommandParser, add_keys
from onnxlint_cmsis.cli.output_options import add_color, add_full_names
from onnxlint_cmsis.cli.terminal import PROGRAM
from onnxlint_cmsis.formats.format import SUFFIXES
from onnxlint_cmsis.ground import __version__

DESCRIPTION = "Tell what CMSIS-NN will do with a model on a Cortex-M."


EPILOG = """CODES and CPU may be several with commas; they, GLOB and options with = repeat.
Exit codes: 0 clean, 1 findings at or above --fail-on, 2 could not do it.
Commands:
{commands}
COMMAND --help explains a command, `config` lists the settings."""


def make_parser() -> CommandParser:
    """The options of the command."""
    usage, epilog = "%(prog)s [lint] [options] PATHS", EPILOG.format(commands=command_help())
    parser = CommandParser("", DESCRIPTION, epilog=epilog, usage=usage)
    text = f"Models ({', '.join(SUFFIXES)}), folders of them, - for standard input. Default: this folder."
    parser.judged.add_argument("paths", nargs="*", metavar="PATHS", help=text)
    add = parser.fixing.add_argument
    add("--fix", action="store_true", help="Rewrite files, proven to compute the same.")
    add("--diff", action="store_true", help="Show what --fix would do; exit with 1 if it would.")
    add("--fix-only", action="store_true", help="Fix, and report no findings.")
    add("--certificate", metavar="FILE", default="", help="Write why fixed files are equal for every input.")
    add("--exit-non-zero-on-fix", action="store_true", help="Exit with 1 where a file was fixed.")
    add_keys(parser)
    add = parser.judged.add_argument
    add("--stdin-filename", metavar="NAME", default=STDIN_NAME, help="What to call standard input.")
    add("--force-exclude", action="store_true", help="Leave excluded files out even where they are named.")
    add("--show-files", action="store_true", help="Print the files that would be linted.")
    add("--show-settings", action="store_true", help="Print the settings, each with its origin.")
    add("--jobs", type=_jobs, default=1, metavar="N", help="Processes for several files. Default: 1.")
    add = parser.findings.add_argument
    add("--write-baseline", metavar="FILE", default="", help="Accept all present findings: write them there.")
    add("--exit-zero", action="store_true", help="Exit with 0 even when there are findings.")
    add = parser.output.add_argument
    add("--output-file", metavar="FILE", default="", help="Write the report there.")
    add("--explain", action="store_true", help="Tell kernel, source and evidence of each finding.")
    add_full_names(parser)
    add("--statistics", action="store_true", help="Count the findings of each rule and level.")
    add("--sarif-category", metavar="NAME", default="", help="Category of the run in SARIF.")
    add_color(parser)
    add("-q", "--quiet", action="store_true", help="Print findings only.")
    add("--version", action="version", version=f"{PROGRAM} {__version__}", help="Print the version.")
    return parser


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)
