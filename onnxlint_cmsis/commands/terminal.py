"""Whether the text is coloured, and how wide it may be."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from onnxlint_cmsis.commands.options import PROGRAM
from onnxlint_cmsis.reporters.plain import printable


def say(text: str) -> None:
    """Print one line to standard error."""
    print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


def beside_names(texts: Sequence[tuple[str, str]]) -> str:
    """The texts about files, each below its file's name; the text alone where there is one."""
    if len(texts) == 1:
        return texts[0][1]
    return "\n".join(f"{printable(file)}\n{text}" for file, text in texts)


def wants_color(choice: str, stream: TextIO) -> bool:
    """True for `always`, or for `auto` on a terminal; NO_COLOR and FORCE_COLOR decide `auto`, NO_COLOR first."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def add_color(parser: argparse.ArgumentParser) -> None:
    """Add the option that `wants_color` takes."""
    choices = ("auto", "always", "never")
    parser.add_argument("--color", choices=choices, default="auto", help="colour the text. Default: auto.")


def columns() -> int:
    """Columns of the terminal: the variable COLUMNS, else the width of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns
