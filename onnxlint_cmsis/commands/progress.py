"""Which file a run is at, on a terminal's standard error."""

from __future__ import annotations

import sys

from onnxlint_cmsis.commands.terminal import columns
from onnxlint_cmsis.reporters.plain import printable


class FilesDone:
    """A line that says how many files are done; nothing for one file, or where standard error is no terminal."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._shown = files > 1 and sys.stderr.isatty()
        self._done = 0

    def step(self, path: str) -> None:
        """One more file is done."""
        self._done += 1
        if self._shown:
            text = f"{self._done} of {self._files} files: {printable(path)}"
            sys.stderr.write(f"\r\033[K{text[: columns() - 1]}")
            sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
