"""Opening a model file: a mapped buffer, or an error that says what the file is instead."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from onnxlint_cmsis.formats.format import part
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.model.model_error import ModelError

LFS_START = b"version https://git-lfs.github.com/spec/v1"


SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"PK\x03\x04", "a zip archive (PyTorch's .pt and .pth, numpy's .npz and Keras' .keras are such)"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (4, b"ORTM", "an ONNX Runtime model (.ort)"),
    (0, b"\x89HDF", "an HDF5 file (Keras .h5)"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"\x80\x02", "a Python pickle"),
    (0, b"GGUF", "a GGUF model"),
    (0, b"\x7fELF", "an ELF; firmware is linted where its name ends in .elf, with the models in it"),
)
"""Position, bytes and name of files that get mistaken for ONNX."""


def open_buffer(path: str) -> Buffer:
    """Map a file for reading; nothing is read yet, unless it lies within another file.

    Raises ModelError (`unreadable`, for C `not-a-model` too).
    """
    if part("formats.held:is_held")(path):
        data: bytes = part("formats.held:held_model")(path).data
        return data
    try:
        status = os.stat(path)  # noqa: PTH116 - the name may be any string a user types
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ModelError("unreadable", f"is {what}; a model is one file, or - for standard input")
        if status.st_size == 0:
            return b""
        with Path(path).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError("unreadable", f"cannot be read: {reason}") from None


def reject_other_files(buffer: Buffer) -> None:
    """Raise ModelError for what is plainly no ONNX file: empty, a Git-LFS pointer, another known format, text."""
    head = buffer[:512]
    if not head:
        raise ModelError("not-a-model", "not an ONNX model: the file is empty")
    if head.startswith(LFS_START):
        size = next((line[5:] for line in head.decode("utf-8", "replace").splitlines() if line[:5] == "size "), "?")
        raise ModelError(
            "lfs-pointer",
            f"a Git-LFS pointer to a file of {size} bytes that has not been fetched: run `git lfs pull`",
        )
    for position, signature, name in SIGNATURES:
        if head[position : position + len(signature)] == signature:
            raise ModelError("not-a-model", f"not an ONNX model: it is {name}")
    text = _as_text(head)
    if text is not None:
        raise ModelError("not-a-model", f"not an ONNX model: it is text that starts with {text[:40]!r}")


def _as_text(head: bytes) -> str | None:
    """The bytes as text, if no ONNX file could start so: only printable characters and line ends."""
    try:
        text = head.decode("utf-8") if len(head) < 512 else head.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\t\r\n" for c in text) else None
