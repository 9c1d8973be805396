"""What `compare` is given: a file, or a file of a git commit written as git writes it, `HEAD:models/kws.onnx`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.named_tuples import NamedTuple

SECONDS = 120
"""How long git may take; it may have to get a file of Git LFS."""


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
    if Path(text).exists() or not colon or not commit or not path:
        return Operand(text, text, None)
    return Operand(text, path.removeprefix("./"), _git_object(text, path))


def _git_object(text: str, path: str) -> bytes:
    """Bytes of a git object, filters such as those of Git LFS applied. Raises UsageError."""
    command = ["git", "cat-file", "--filters", text]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise UsageError(f"{text}: git is not installed, and there is no file of that name") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{text}: git did not answer within {SECONDS} seconds") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"{text}: {said[-1] if said else f'git has no object for {path}'}")
    return done.stdout
