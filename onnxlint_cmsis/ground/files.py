"""Reading: regular files only, and no more bytes than make sense."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


PIECE = 2**20
"""Bytes that are read of a stream at once."""
TEXT = 2**26
"""Bytes of the largest configuration, baseline or line that is read."""
MODEL = 2**31 - 1
"""Bytes of the largest model that is read into memory: protobuf and flatbuffers go no further."""


class NotReadError(OSError):
    """A file that is not read; `strerror` is a clause that says why."""


def read_regular(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file. Raises OSError; NotReadError for what is no regular file, or larger than `most`.

    A pipe or a device is not opened, so that nothing waits for anyone.
    """
    name = os.fspath(path)
    if not stat.S_ISREG(os.stat(name).st_mode):  # noqa: PTH116 - the name may be any string a user types
        what = "a folder" if Path(name).is_dir() else "not a regular file"
        raise NotReadError(0, f"is {what}; allowed is a regular file", name)
    with Path(name).open("rb") as file:
        return read_stream(file, most, name)


def read_stream(stream: BinaryIO, most: int, name: str) -> bytes:
    """All that a stream holds. Raises NotReadError for more than `most` bytes."""
    data = io.BytesIO()
    while piece := stream.read(PIECE):
        if data.tell() + len(piece) > most:
            raise NotReadError(0, f"has more than {most} bytes, the most that is read", name)
        data.write(piece)
    return data.getvalue()
