"""Text in lines that are no wider than the terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import no_command, paint, printable, unpainted

if TYPE_CHECKING:
    from onnxlint_cmsis.reporters.report_run import Run

_TIED = "\N{NO-BREAK SPACE}%"
"""A percent sign that stays with its number."""
INDENT = 4
"""Columns that the lines after the first are moved in by."""
LABELS = {"proof": "good", "left": "warning", "do": "path"}
"""Styles of labels that are not faint."""
NARROWEST = 40
"""Columns that are used even where the terminal has fewer."""


def wrapped(text: str, width: int, indent: int = INDENT) -> str:
    """The printable text in lines of at most `width` columns, those after the first moved in; 0 for one line.

    What is painted goes through it before it is painted.
    """
    text = printable(text)
    if width <= 0 or len(text) <= width:
        return text
    escapes = 3 if "::" in text else 0  # columns for a `:` that is written as an escape where a name is broken
    lines = textwrap.wrap(
        text.replace(" %", _TIED),
        max(width, NARROWEST) - escapes,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    return "\n".join(map(no_command, lines)).replace(_TIED, " %")


def fits(lines: str, more: str, run: Run) -> bool:
    """Whether the last of some lines has room for more; lines without a limit take nothing on."""
    return run.width > 0 and len(unpainted(lines.rpartition("\n")[2])) + len(more) <= run.width


def labelled(label: str, text: str, run: Run) -> str:
    """A line under a finding or file: a label in a column, then the text, the lines after the first below it."""
    line = wrapped(f"{' ' * INDENT}{label:<8} {text}", run.width, INDENT + 9)
    start = INDENT + 8
    return f"{' ' * INDENT}{paint(line[INDENT:start], LABELS.get(label, 'faint'), run.color)}{line[start:]}"
