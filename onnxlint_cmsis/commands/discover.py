"""From the paths of the command line to the files to lint."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.bounded_reading import MODEL, NotReadError, read_stream
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.formats.suffixes import SKIPPED_FOLDERS, SUFFIXES
from onnxlint_cmsis.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

STDIN = "-"


def standard_input() -> bytes:
    """All of standard input. Raises UsageError for more than a model may have."""
    try:
        return read_stream(sys.stdin.buffer, MODEL, "standard input")
    except NotReadError as error:
        raise UsageError(f"standard input {error.strerror}") from None


class Found(NamedTuple):
    """The files of a run."""

    files: tuple[str, ...]
    """Each file once, in the order of the paths, a folder's files sorted."""
    empty: tuple[str, ...]
    """Folders in which there is no file to lint."""
    unreadable: tuple[str, ...] = ()
    """Folders that cannot be listed, each with the reason."""


def discover(
    paths: Iterable[str],
    excluded: Callable[[str], bool],
    *,
    force_exclude: bool = False,
    ignored: Callable[[str, list[str]], frozenset[str]] = lambda _folder, _files: frozenset(),
) -> Found:
    """Find the files to lint.

    `ignored` tells which files of a folder are not to be found by a search, as version control wants it.
    `excluded` tells whether the configuration leaves a file or folder out. A file that is named itself is linted all
    the same, unless `force_exclude` is set. A path that does not exist counts as a file, so that it is reported, and so
    does a folder that is named like a model and holds none.
    """
    files: dict[str, None] = {}
    empty: list[str] = []
    unreadable: list[str] = []

    def cannot_list(error: OSError) -> None:
        unreadable.append(f"{error.filename}: the folder cannot be listed: {error.strerror or error}")

    for path in paths:
        if path != STDIN and _is_folder(path):
            before = len(unreadable)
            every = sorted(_search(path, excluded, cannot_list))
            left_out = ignored(path, every)
            found = [file for file in every if file not in left_out] or _mistaken(path)
            files.update(dict.fromkeys(found))
            if not found and len(unreadable) == before:
                empty.append(path)
        elif path == STDIN or not (force_exclude and excluded(path)):
            files[path if path == STDIN else os.path.normpath(path)] = None
    return Found(tuple(files), tuple(empty), tuple(unreadable))


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a name that is too long, a folder above that may not be entered
        return False


def _mistaken(folder: str) -> list[str]:
    """The folder itself where it has the name of a model, none elsewhere."""
    name = os.path.normpath(folder)
    return [name] if name.lower().endswith(SUFFIXES) else []


def _search(folder: str, excluded: Callable[[str], bool], cannot_list: Callable[[OSError], None]) -> Iterator[str]:
    """Every model file below a folder; links to folders are not followed."""
    for place, folders, files in os.walk(os.path.normpath(folder), onerror=cannot_list):
        here = Path(place)
        folders[:] = [name for name in folders if not _skipped(name) and not excluded(str(here / name))]
        for name in files:
            path = str(here / name)
            if name.lower().endswith(SUFFIXES) and not excluded(path):
                yield path


def _skipped(folder: str) -> bool:
    return folder.startswith(".") or folder in SKIPPED_FOLDERS
