"""Whether text is coloured, and how wide it may be."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from onnxlint_cmsis.output.foreign_text import printable

if TYPE_CHECKING:
    pass


def say(text: str) -> None:
    """Print one line to standard error."""
    print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


def tell(line: str) -> None:
    """Print one line of a long run's result to standard output, where it is seen at once."""
    print(printable(line), flush=True)


def wants_color(choice: str, stream: TextIO) -> bool:
    """True for `always`, or for `auto` on a terminal; NO_COLOR and FORCE_COLOR decide `auto`, NO_COLOR first."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Columns of the terminal: the variable COLUMNS, else the width of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


PROGRAM = "onnxlint-cmsis"
