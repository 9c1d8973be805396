"""`onnxlint-cmsis completion SHELL`: completion of commands and options for a shell."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from onnxlint_cmsis.cli import COMMANDS
from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.terminal import PROGRAM
from onnxlint_cmsis.ground.errors import UsageError

SHELLS = ("bash", "zsh", "tcsh")
"""Shells that shtab writes completions for."""
FILES = ("FILE", "FILE.svg", "FOLDER", "KEY=VALUE", "OTHER")
"""What options that take a file or folder call it."""
MODELS = (
    ("complete -o bashdefault -F", "complete -o bashdefault -o default -F"),
    ("_describe 'onnxlint-cmsis commands' _commands", "_describe 'onnxlint-cmsis commands' _commands; _files"),
)
"""Lines of bash and zsh that complete commands alone, and the same for models too, since `lint` may be left out."""
DESCRIPTION = (
    "Print a completion script; bash: onnxlint-cmsis completion bash > "
    "~/.local/share/bash-completion/completions/onnxlint-cmsis"
)


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("completion", DESCRIPTION)
    parser.output.add_argument("shell", choices=SHELLS, help="Shell to write for.")
    return parser


def run(argv: list[str]) -> int:
    """Print the script."""
    args = make_parser().parse_args(argv)
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install 'onnxlint-cmsis[completion]'") from None
    script = shtab.complete(whole_parser(), shell=args.shell)
    for spelling, better in MODELS:
        script = script.replace(spelling, better)
    sys.stdout.write(script + "\n")
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands below one parser, which has the options of `lint` too, as the program has."""
    parser = argparse.ArgumentParser(PROGRAM, add_help=False)
    below = parser.add_subparsers()
    for command in COMMANDS:
        subparser = import_module(f"onnxlint_cmsis.{command.module}").make_parser()
        for action in subparser._actions:
            _fill_in(action)
            if command.name == "lint" and action.option_strings:
                parser._add_action(action)
        below.add_parser(command.name, help=command.what, description=command.what, parents=[subparser], add_help=False)
    return parser


def _fill_in(action: argparse.Action) -> None:
    """Say what a shell completes: the values that there are, or files."""
    import shtab

    values = _values().get(action.dest)
    if action.choices is None and values:
        action.choices = values
    elif not action.option_strings or action.metavar in FILES:
        action.complete = shtab.FILE  # type: ignore[attr-defined]


def _values() -> dict[str, tuple[str, ...]]:
    """Values of the settings that have known ones, and of the words that commands take."""
    from onnxlint_cmsis.checks.rule_registry import every_rule
    from onnxlint_cmsis.cmsis_nn.releases import REVIEWED
    from onnxlint_cmsis.cmsis_nn.targets import CPUS
    from onnxlint_cmsis.config.boards import KNOWN_BOARDS
    from onnxlint_cmsis.config.settings import KEYS
    from onnxlint_cmsis.runtimes.runtime import NAMES

    codes = tuple(dict.fromkeys(code for rule in every_rule() for code in (rule.code, *rule.selectors)))
    of_codes = ("select", "ignore", "extend_select", "extend_ignore", "fixable", "unfixable", "extend_fixable", "rule")
    return {
        **{key.attribute: tuple(key.allowed) for key in KEYS if key.allowed},
        **dict.fromkeys(of_codes, codes),
        "targets": tuple(CPUS),
        "target": tuple(CPUS),
        "release": tuple(REVIEWED),
        "runtime": tuple(NAMES),
        "board": tuple(board.name for board in KNOWN_BOARDS),
        "key": tuple(key.name for key in KEYS),
    }
