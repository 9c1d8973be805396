"""Which commit's version of a file some bytes are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from onnxlint_cmsis.ground.git_repository import GitError, repository_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_VERSIONS = 100
"""Versions of a file that are looked at."""
_VERSION = re.compile(rb"\x01([0-9a-f]+)\n+:\d+ \d+ [0-9a-f]+ ([0-9a-f]{40,64}) [AM]")


class FileVersion(NamedTuple):
    """A version of a file."""

    name: str
    """Short name of the commit that brought it."""
    behind: int
    """Versions between it and the newest one."""


def version_in(path: str, contents: Iterable[bytes]) -> FileVersion | None:
    """The newest version of a file that is one of the contents; None where there is none, or no repository."""
    file = Path(path)
    repository = repository_of(file.parent)
    if repository is None or not file.exists():
        return None
    words = ["log", f"-n{MOST_VERSIONS}", "--format=%x01%h", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff"]
    held = list(contents)
    try:
        told = repository.ask([*words, "--", str(file.resolve())], repository.work_tree)
        for number, match in enumerate(_VERSION.finditer(told)):
            if any(repository.holds(match[2].decode(), data) for data in held):
                return FileVersion(match[1].decode(), number)
    except GitError:
        return None
    return None
