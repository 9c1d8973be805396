"""Which files git ignores, asked of git itself."""

from __future__ import annotations

import os
import subprocess

SECONDS = 60
"""How long git may take."""


def ignored_by_git(folder: str, files: list[str]) -> frozenset[str]:
    """Those of the files below a folder that git ignores; none outside a work tree or without git.

    A tracked file is never ignored, whatever patterns say.
    """
    if not files or not _in_work_tree(folder):
        return frozenset()
    names = {os.path.relpath(path, folder): path for path in files}
    asked = "\0".join(names).encode("utf-8", "surrogateescape")
    try:
        done = subprocess.run(
            ["git", "-C", folder, "check-ignore", "-z", "--stdin"],
            input=asked,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    told = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(names[name] for name in told if name in names)


def _in_work_tree(folder: str) -> bool:
    """Whether a folder or one above it has a `.git`; asking git would start a process for nothing."""
    place = os.path.realpath(folder)
    while True:
        if os.path.lexists(os.path.join(place, ".git")):  # noqa: PTH118 - a path of bytes git knows
            return True
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return False
        place = above
