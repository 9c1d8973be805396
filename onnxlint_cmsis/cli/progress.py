"""How far a long run is, on a terminal's standard error."""

from __future__ import annotations

import sys

from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.output.foreign_text import printable


class ProgressLine:
    """A line that says how many of some things are done; nothing where standard error is no terminal."""

    def __init__(self, things: int, noun: str = "files", *, least: int = 2) -> None:
        """`least` is the number of things from which on the line is shown."""
        self._things, self._noun = things, noun
        self._shown = things >= least and sys.stderr.isatty()
        self._done = 0

    def at(self, name: str) -> None:
        """What is being done, or was done last."""
        if self._shown:
            text = f"{self._done:,} of {self._things:,} {self._noun}: {printable(name)}"
            sys.stderr.write(f"\r\033[K{text[: columns() - 1]}")
            sys.stderr.flush()

    def step(self, name: str) -> None:
        """Count one more task as done."""
        self._done += 1
        self.at(name)

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
