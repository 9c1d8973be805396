"""Options of `onnxlint-cmsis [lint] PATHS`."""

from __future__ import annotations

import argparse

from onnxlint_cmsis.commands.command_table import command_help
from onnxlint_cmsis.commands.options import PROGRAM, CommandParser, add_keys
from onnxlint_cmsis.commands.terminal import add_color
from onnxlint_cmsis.version import __version__

DESCRIPTION = "Tell what CMSIS-NN will do with a model on a Cortex-M: kernels, errors, wrong results, missed speed."
EPILOG = """Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage error, unreadable file or internal error.
With --fix the findings are those that remain; with --diff 1 means that a file would change.
Commands:
{commands}
`onnxlint-cmsis COMMAND --help` explains each; ./layers is a folder or file of a command's name."""
STDIN_NAME = "<stdin>"


def make_parser() -> CommandParser:
    """The options of the command."""
    usage, epilog = "%(prog)s [lint] [options] PATHS", EPILOG.format(commands=command_help())
    parser = CommandParser("", DESCRIPTION, epilog=epilog, usage=usage)
    add = parser.add_argument
    text = "model files, folders to search for .onnx and .tflite files, - for standard input. Default: this folder."
    add("paths", nargs="*", metavar="PATHS", help=text)
    add("--version", action="version", version=f"{PROGRAM} {__version__}")
    add("--stdin-filename", metavar="NAME", default=STDIN_NAME, help="what to call standard input")
    add("--force-exclude", action="store_true", help="leave excluded files out even where they are named")
    add("--jobs", type=_jobs, default=1, metavar="N", help="processes to lint and fix several files with. Default: 1.")
    add("--exit-zero", action="store_true", help="exit with 0 even when there are findings")
    add("--fix", action="store_true", help="rewrite files so that they cost less and compute the same, after proof")
    add("--no-fix", action="store_true", help="fix nothing, whatever --fix or --fix-only says")
    add("--diff", action="store_true", help="show what --fix would do and touch nothing; exit with 1 if it would")
    add("--fix-only", action="store_true", help="fix, and report no findings; exit with 0 unless something failed")
    add("--exit-non-zero-on-fix", action="store_true", help="exit with 1 where a file was fixed")
    add("--output-file", metavar="FILE", default="", help="write the report there instead of standard output")
    add("--write-baseline", metavar="FILE", default="", help="accept all present findings: write them as a baseline")
    add("--statistics", action="store_true", help="add the number of findings per rule and per level")
    add("--sarif-category", metavar="NAME", default="", help="category of the run in SARIF, where several are uploaded")
    add("--show-settings", action="store_true", help="print the settings of the first file and where they come from")
    add("--show-files", action="store_true", help="print the files that would be linted")
    add_color(parser)
    add("--full-names", action="store_true", help="show names as they stand in the file, not their short forms")
    add("--explain", action="store_true", help="tell kernel, source, reason and evidence of each finding")
    add("-q", "--quiet", action="store_true", help="print findings only: no summary, no notes about files")
    add_keys(parser)
    return parser


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)
