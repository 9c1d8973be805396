"""Put a changed model in the place of the old one, whole or not at all."""

from __future__ import annotations

from pathlib import Path


def replace_file(path: str | Path, new: bytes, *, expected: bytes | None = None) -> None:
    """Replace a file's bytes; any failure leaves the old ones and no other file.

    `new` is the serialized model; tensors in external files that did not change still point to them, and those files
    are not touched. With `expected`, the file must still hold these bytes. Raises OSError.
    """
    raise NotImplementedError
