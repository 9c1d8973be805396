"""`onnxlint-cmsis completion SHELL`: completion of commands and options for a shell."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from onnxlint_cmsis.commands.command_table import COMMANDS
from onnxlint_cmsis.commands.options import PROGRAM, CommandParser
from onnxlint_cmsis.errors import UsageError

SHELLS = ("bash", "zsh", "tcsh")
"""Shells that shtab writes completions for."""
DESCRIPTION = (
    "Print a completion script; bash: onnxlint-cmsis completion bash > "
    "~/.local/share/bash-completion/completions/onnxlint-cmsis"
)


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("completion", DESCRIPTION)
    parser.add_argument("shell", choices=SHELLS, help="shell to write for")
    return parser


def run(argv: list[str]) -> int:
    """Print the script."""
    args = make_parser().parse_args(argv)
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install 'onnxlint-cmsis[completion]'") from None
    sys.stdout.write(shtab.complete(whole_parser(), shell=args.shell) + "\n")
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands below one parser."""
    parser = argparse.ArgumentParser(PROGRAM)
    below = parser.add_subparsers()
    for command in COMMANDS:
        made = import_module(f"onnxlint_cmsis.commands.{command.module}").make_parser()
        below.add_parser(command.name, help=command.what, description=command.what, parents=[made], add_help=False)
    return parser
