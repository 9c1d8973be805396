"""Which files git ignores, asked of git itself."""

from __future__ import annotations

import os
from pathlib import Path

from onnxlint_cmsis.ground.git_repository import GitError, repository_of


def ignored_by_git(folder: str, files: list[str]) -> frozenset[str]:
    """Files below a folder that git ignores; none outside a work tree or without git.

    A tracked file is never ignored, whatever patterns say.
    """
    repository = repository_of(Path(folder)) if files else None
    if repository is None:
        return frozenset()
    names = {os.path.relpath(path, folder): path for path in files}
    asked = "\0".join(names).encode("utf-8", "surrogateescape")
    try:
        told = repository.ask(["check-ignore", "-z", "--stdin"], Path(folder), asked)
    except GitError:
        return frozenset()
    return frozenset(names[name] for name in told.decode("utf-8", "surrogateescape").split("\0") if name in names)
