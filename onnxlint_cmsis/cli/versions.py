"""Versions of models that commands are given: a file, or a file of a git commit, `HEAD:models/kws.onnx`."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnxlint_cmsis.formats.format import file_of, format_of, is_c, is_image, part
from onnxlint_cmsis.formats.held import held_model, is_held
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import MODEL
from onnxlint_cmsis.ground.git_repository import GitError, Repository, repository_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError


class Version(NamedTuple):
    """One version of a model."""

    name: str
    """As the user named it."""
    path: str
    """Path that decides the configuration: the part behind the colon of a git object."""
    file: str
    """Path that decides the format, and beside which external data lie."""
    data: bytes | None
    """Content of a git object or of an array; None for a file, which is read where it lies."""


@contextlib.contextmanager
def opened(*texts: str) -> Iterator[tuple[Version, ...]]:
    """Find versions of models; files beside those of commits are kept in folders until the end. Raises UsageError."""
    with contextlib.ExitStack() as stack:
        yield tuple(_version(text, stack) for text in texts)


def _version(text: str, stack: contextlib.ExitStack) -> Version:
    """A version. Raises UsageError; for what names a file and a file of a commit too."""
    commit, colon, path = text.partition(":")
    if not colon or not commit or not path or path.startswith(":") or os.path.splitdrive(text)[0]:
        return _of_file(text)
    is_file = os.path.lexists(file_of(text))
    repository = None if text.startswith("-") else repository_of(Path())
    if repository is None:
        if is_file:
            return _of_file(text)
        raise UsageError(f"{text}: there is no file of that name, and no git work tree here that could have it")
    try:
        if not is_file:
            return of_commit(repository, commit, path, stack)._replace(name=text)
        repository.commit(commit)
    except GitError as error:
        if is_file:
            return _of_file(text)
        raise UsageError(f"{text}: {error}") from None
    raise UsageError(f"{text}: it names a file, and a file of the commit {commit} too; ./{text} is the file")


def _of_file(text: str) -> Version:
    """A file, or an array of a C file. Raises UsageError for C without a model, or with several."""
    if not is_held(text):
        return Version(text, text, text, None)
    try:
        held = held_model(text)
        return Version(text, held.path, held.path, held.data)
    except ModelError as error:
        raise UsageError(f"{text}: {error.message}") from None


def of_commit(repository: Repository, commit: str, path: str, stack: contextlib.ExitStack) -> Version:
    """A file of a commit, with a folder that has the files of that commit beside it and nothing else.

    Raises GitError.
    """
    data = repository.content(f"{commit}:{file_of(path)}", Path())
    if is_held(path):
        try:
            held = held_model(path, data)
            path, data = held.path, held.data
        except ModelError as error:
            raise GitError(error.message) from None
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="onnxlint-cmsis-version-"))
    room = MODEL
    for name in files_beside(path, data):
        file = Path(folder, name)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            room -= file.write_bytes(repository.content(f"{commit}:{beside(path, name)}", Path()))
        except GitError as error:
            raise GitError(f"its external data {name!r}: {error}") from None
        except (OSError, ValueError) as error:
            raise GitError(f"its external data {name!r} cannot be kept in {folder}: {error}") from None
        if room < 0:
            raise GitError(f"its external data have more than {MODEL} bytes, the most that is read of a commit")
    return Version(f"{commit}:{path}", path.removeprefix("./"), str(Path(folder, PurePosixPath(path).name)), data)


def files_beside(path: str, data: bytes) -> list[str]:
    """The files in a model's folder that its bytes say it is read with, as relative paths; none outside of it."""
    row = format_of(path)
    if is_c(path) or is_image(path):
        return []
    names = part(row.beside)(data) if row.beside else ()
    return [name for name in names if _is_inside(name)]


def _is_inside(name: str) -> bool:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    outside = posix.is_absolute() or windows.drive or windows.root or ".." in posix.parts or ".." in windows.parts
    return bool(posix.parts) and not outside and "\0" not in name


def beside(path: str, name: str) -> str:
    """Path of a file in a model's folder, as git writes paths; a `./` in front stays, since it tells from where."""
    front = "./" if path.startswith("./") else ""
    return front + str(PurePosixPath(path).parent / name)
