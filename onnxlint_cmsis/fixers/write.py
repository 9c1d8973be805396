"""Put a changed model in the place of the old one, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from onnxlint_cmsis.atomic import write_bytes


def replace_file(path: str | Path, new: bytes, *, expected: bytes | None = None) -> None:
    """Replace a model's bytes; any failure and any signal leaves the old ones and no other file.

    `new` is a serialized model that has been proven. Tensors in external files that did not change still point to
    them, and those files are not touched; changed ones are part of the model now. With `expected`, the file must
    still hold these bytes. Raises OSError, also for a file that is not writable.
    """
    target = Path(path).resolve(strict=True)
    if not target.is_file():
        raise OSError(f"{path} is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is not writable")

    def check(written: Path) -> None:
        if written.read_bytes() != new:
            raise OSError(f"{path}: the file read back differs from the bytes written")
        if expected is not None and target.read_bytes() != expected:
            raise OSError(f"{path} was changed by someone else meanwhile")

    write_bytes(target, new, check=check)
