"""What a long run is at, on standard error: a bar on a terminal, lines otherwise, nothing for a short run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from threading import Lock

from firmware_check.ending import complain
from onnxlint_cmsis.output.foreign_text import printable

_WIDTH = 30


_FIRST, _NEXT = 30.0, 10.0
"""Seconds before the first line, and between two of them, where standard error is no terminal."""


class Progress:
    """Layers that ran, of all layers of one check; each runs in two builds."""

    def __init__(self, title: str, layers: int, builds: int = 2) -> None:
        self._title = printable(title)
        self._layers = layers
        self._all = max(1, layers * builds)
        self._builds = builds
        self._seen: dict[Path, int] = {}
        self._said = time.monotonic() - _NEXT + _FIRST
        self._lock = Lock()
        self._shown = False

    def ran(self, report: Path, count: int) -> None:
        """So many layers are in a firmware's report."""
        with self._lock:
            self._seen[report] = max(count, self._seen.get(report, 0))
            self._show(min(self._all, sum(self._seen.values())))

    def at(self, what: str) -> None:
        """Tell that a stage begins."""
        with self._lock:
            self._line(f"{self._title}: {what}")

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _show(self, done: int) -> None:
        layers = done / self._builds
        if sys.stderr.isatty():
            full = _WIDTH * done // self._all
            bar = f"[{'#' * full}{'.' * (_WIDTH - full)}]"
            self._draw(f"{bar} {layers:.0f} of {self._layers} layers, {self._title}")
        else:
            self._line(f"{self._title}: {layers:.0f} of {self._layers} layers ran")

    def _line(self, text: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            self._draw(text)
        elif now - self._said >= _NEXT:
            self._said = now
            complain(f"firmware_check: {text}")

    def _draw(self, text: str) -> None:
        self._shown = True
        sys.stderr.write(f"\r\033[K{text[:118]}")
        sys.stderr.flush()
