"""What `compare` is given: a file, or a file of a git commit, `HEAD:models/kws.onnx`."""

from __future__ import annotations

import os
from pathlib import Path

from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.git_repository import GitError, repository_of
from onnxlint_cmsis.named_tuples import NamedTuple


class Operand(NamedTuple):
    """One version of a model."""

    name: str
    """As the user named it."""
    path: str
    """Path that decides the format and the configuration: the part behind the colon of a git object."""
    data: bytes | None
    """Content of a git object; None for a file, which is read where it lies."""


def operand(text: str) -> Operand:
    """Find a version of a model; a file of that very name goes first. Raises UsageError."""
    commit, colon, path = text.partition(":")
    if Path(text).exists() or not colon or not commit or not path or os.path.splitdrive(text)[0]:
        return Operand(text, text, None)
    return Operand(text, path.removeprefix("./"), _git_object(text))


def _git_object(text: str) -> bytes:
    """Bytes of a file of a commit. Raises UsageError."""
    repository = repository_of(Path())
    if text.startswith("-") or repository is None:
        raise UsageError(f"{text}: there is no file of that name, and no git work tree here that could have it")
    try:
        return repository.content(text, Path())
    except GitError as error:
        raise UsageError(f"{text}: {error}") from None
