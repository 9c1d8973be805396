"""Paths as other programs want them."""

from __future__ import annotations

import os
from pathlib import Path


def posix(path: str) -> str:
    """The path with forward slashes."""
    return path.replace(os.sep, "/")


def shown(path: str, folder: str) -> str:
    """The path relative to the folder where it is below it, otherwise as it is."""
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # another drive on Windows
        return path
    return path if relative == os.pardir or relative.startswith(os.pardir + os.sep) else relative


def uri(path: str, folder: str) -> str:
    """Percent-encoded URI reference: relative, without `./` and `..`, below the folder; `file:` outside of it."""
    from urllib.parse import quote

    relative = shown(path, folder)
    if Path(relative).is_absolute() or relative.startswith(os.pardir):
        return Path(os.path.normpath(Path(folder, relative))).as_uri()
    return quote(os.fsencode(posix(relative)))
