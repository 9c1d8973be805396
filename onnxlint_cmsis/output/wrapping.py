"""Text in lines that are no wider than the terminal."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from onnxlint_cmsis.output.foreign_text import no_command, paint, printable

if TYPE_CHECKING:
    from onnxlint_cmsis.output.run_results import Run


_TIE = "\N{NO-BREAK SPACE}"
"""Keeps a percent sign with its number while lines are broken; printable text has none."""


INDENT = 4
"""Columns that the lines after the first are moved in by."""


LABELS = {"proof": "good", "left": "warning", "do:": "path"}
"""Styles of labels that are not faint."""


NARROWEST = 40
"""Columns that are used even where the terminal has fewer."""


class _Wrapper(textwrap.TextWrapper):
    """Breaks lines at spaces, and a list without any that is too long for a line behind a comma before a name."""

    def _split(self, text: str) -> list[str]:
        chunks = super()._split(text)
        long = (re.split(r"(?<=,)(?=[^\W\d])", chunk) if len(chunk) > self.width else [chunk] for chunk in chunks)
        return [piece for pieces in long for piece in pieces]

    def _handle_long_word(self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int) -> None:
        """Keep a word whole that a line without indent has room for: people paste it."""
        if len(reversed_chunks[-1]) > self.width:
            super()._handle_long_word(reversed_chunks, cur_line, cur_len, width)
        elif not cur_line:
            cur_line.append(reversed_chunks.pop())


def wrapped(text: str, width: int, indent: int = INDENT) -> str:
    """The printable text in lines of at most `width` columns, those after the first moved in; 0 for one line.

    What is painted goes through it before it is painted.
    """
    text = printable(text)
    if width <= 0 or len(text) <= width:
        return text
    escapes = 3 if "::" in text else 0  # columns for a `:` that is written as an escape where a name is broken
    most = max(width, NARROWEST) - escapes
    lines = _Wrapper(
        most,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    ).wrap(text.replace(" %", f"{_TIE}%"))
    fitting = (line if len(line) <= most else line.lstrip().rjust(most) for line in lines)
    return "\n".join(map(no_command, fitting)).replace(_TIE, " ")


LABEL = 8
"""Columns of a label."""


DO = "do:"
"""Stands in front of what to do, on a line of its own or on the last of a message."""


def labelled(label: str, text: str, run: Run, columns: int = LABEL) -> str:
    """A line under a finding or file: a label in a column, then the text, the lines after the first below it."""
    line = wrapped(f"{' ' * INDENT}{label:<{columns}} {text}", run.width, INDENT + columns + 1)
    start = INDENT + columns
    return f"{' ' * INDENT}{paint(line[INDENT:start], LABELS.get(label, 'faint'), run.color)}{line[start:]}"
