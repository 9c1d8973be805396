"""The command line: which command runs, and how it ends whatever happens."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from onnxlint_cmsis.cli import COMMANDS
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.words import alike

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
HABITS = {"version": "--version", "help": "--help", "check": "lint PATHS", "explain": "rule CODE"}
"""Words that other linters have commands for, with what there is here."""


def main(argv: list[str]) -> int:
    """Run a command line without the program's name; the exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure:
                reconfigure(errors="backslashreplace")
        if argv and argv[0] in HABITS and not os.path.lexists(argv[0]):
            return complain(f"there is no command '{argv[0]}'; did you mean {HABITS[argv[0]]}?")
        near = _command_meant(argv)
        if near:
            return complain(f"'{argv[0]}' is neither a file, a folder nor a command; did you mean the command {near}?")
        code = _run(*chosen(argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader is gone: nothing may be written again, not even while Python shuts down
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def chosen(argv: list[str]) -> tuple[str, list[str]]:
    """The command and what is left: the first word that is neither an option nor its value, `lint` if it names none."""
    names = {command.name for command in COMMANDS}
    for index, word in enumerate(argv):
        if word in names and _only_options(argv[:index], word):
            return word, [*argv[:index], *argv[index + 1 :]]
    return "lint", argv


def _command_meant(argv: list[str]) -> str:
    """The command that the first word is most like, where that word is no command, option, path or model's name."""
    names = [command.name for command in COMMANDS]
    word = argv[0] if argv else ""
    if not word.replace("-", "").isalpha() or word.startswith("-") or word in names or os.path.lexists(word):
        return ""
    return next(iter(alike(word, names, 1, 0.7)), "")


def _only_options(words: list[str], command: str) -> bool:
    """Tell if the words are options of the command, or of `lint` where the command has them not, with their values."""
    if not words:
        return True
    parsers = [_module(name).make_parser() for name in (command, "lint")]
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word in ("-", "--"):
            return False
        valued = next((takes for parser in parsers if (takes := parser.takes_value(word)) is not None), False)
        if valued and next(left, None) is None:
            return False
    return True


def _module(command: str) -> Any:
    module = next(row.module for row in COMMANDS if row.name == command)
    return import_module(f"onnxlint_cmsis.{module}")


def _run(command: str, argv: list[str]) -> int:
    """Run one command; what is wrong with the command line or configuration takes one line."""
    try:
        code: int = _module(command).run(argv)
    except UsageError as error:
        return complain(str(error))
    except SystemExit as end:  # --help and --version
        return end.code if isinstance(end.code, int) else 0
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        return complain(f"{error.filename or 'output'}: {error.strerror or error}")
    except Exception as error:
        if "-v" in argv or "--verbose" in argv:
            import traceback

            traceback.print_exc()
        return complain(f"internal error: {type(error).__name__}: {error}; please report it (-v shows where)")
    return code


def complain(message: str) -> int:
    """Print one line to standard error; the exit code for it."""
    from onnxlint_cmsis.cli.terminal import say

    say(f"error: {message}")
    return USAGE
