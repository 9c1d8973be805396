"""Path patterns of the configuration and of --exclude: `*`, `?` and `**`, relative to the folder that holds them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Glob(NamedTuple):
    """One pattern and the folder it is relative to."""

    pattern: str
    """Without a slash it matches any folder or file of that name; with one it starts at `root`."""
    root: str
    """Absolute folder: of the configuration file, or the working directory for the command line."""

    def matches(self, path: str) -> bool:
        """True where the path, the C file of an array, or a folder above it below `root`, matches."""
        path = file_of(path)
        relative = _below(path, self.root)
        pattern = self.pattern.replace(os.sep, "/")  # shells of Windows complete names with backslashes
        if relative is None:
            return "/" not in pattern and _regex(pattern).fullmatch(Path(path).name) is not None
        parts = relative.split("/")
        if "/" in pattern.rstrip("/"):
            parts = ["/".join(parts[: end + 1]) for end in range(len(parts))]
        regex = _regex(pattern.strip("/").removeprefix("./"))
        return any(regex.fullmatch(part) for part in parts)


def matches_any(globs: tuple[Glob, ...], path: str) -> bool:
    """True where one of the patterns matches the path."""
    return any(glob.matches(path) for glob in globs)


def _below(path: str, root: str) -> str | None:
    """The path relative to root with forward slashes, None where it is not below it."""
    try:
        relative = os.path.relpath(path, root)
    except ValueError:  # another drive on Windows
        return None
    posix = Path(relative).as_posix()
    return None if posix == ".." or posix.startswith("../") else posix


def _regex(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression; `*` and `?` stay inside one path component."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(_WILDCARDS.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)
