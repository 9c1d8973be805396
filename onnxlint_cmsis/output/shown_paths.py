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


def below(path: str, folder: str) -> str:
    """Percent-encoded URI reference of a path below the folder, without `./` and `..`; empty where it is not below."""
    absolute = os.path.normpath(Path(folder, path))
    relative = shown(absolute, folder)
    return "" if relative == absolute else quoted(relative)


def root(folder: str) -> str:
    """URI of the root of the file system that a folder is in, on Windows that of its drive."""
    return Path(Path(folder).anchor).as_uri()


def below_root(path: str, folder: str) -> str:
    """Percent-encoded URI reference of a path (or one in folder) from `root`; empty on another drive."""
    drive, rest = os.path.splitdrive(os.path.normpath(Path(folder, path)))
    return quoted(rest).lstrip("/") if drive.lower() == os.path.splitdrive(folder)[0].lower() else ""


def quoted(path: str) -> str:
    """The path percent-encoded, byte by byte as the file system has it."""
    from urllib.parse import quote

    return quote(os.fsencode(posix(path)))
