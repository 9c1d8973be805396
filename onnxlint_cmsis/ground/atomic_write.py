"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from onnxlint_cmsis.ground.files import fcntl

DEADLY = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a process unless it says otherwise."""


def heeded() -> list[int]:
    """The deadly signals that this process does not ignore; one that it was started to ignore stays ignored."""
    return [number for number in DEADLY if signal.getsignal(number) not in (None, signal.SIG_IGN)]


class StoppedError(OSError):
    """A signal came before the file was replaced."""


def write_text(path: str, text: str) -> None:
    """Replace a file by the text; an OSError leaves the old file as it was. Devices and pipes are written to."""
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    write_bytes(target, text.encode("utf-8", "backslashreplace").replace(b"\n", os.linesep.encode()))


def write_bytes(path: Path, data: bytes, *, check: Callable[[Path], None] | None = None) -> None:
    """Replace a file by the bytes, or make it; the old one's mode and owner stay, as does a link that leads to it.

    `check` sees the finished file before it takes the old one's place, and may raise to leave that alone. An exception
    or a signal leaves the old file as it was, and no other.
    """
    real = Path(os.path.realpath(path))  # a link to itself stays what it is
    remove_leftovers(real)
    with _signals_held() as held, _draft(real) as (new, handle):
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _take_over(new, real)
            if check is not None:
                check(new)
            _replace(new, real, held)
        except BaseException:
            with contextlib.suppress(OSError):
                new.chmod(0o600)  # Windows removes no file that may not be written
            with contextlib.suppress(OSError):
                new.unlink()
            raise
    _sync_folder(real.parent)


def remove_leftovers(path: Path) -> None:
    """Remove drafts of a file whose process was killed before it could put them in the file's place.

    A process holds a lock on its draft as long as it lives. Where the system has no such locks, nothing is removed.
    """
    if fcntl is None:
        return
    real = Path(os.path.realpath(path))  # a link to itself stays what it is
    name = re.compile(re.escape(_draft_prefix(real)) + r"[a-z0-9_]{8}")
    with contextlib.suppress(OSError), os.scandir(real.parent) as entries:
        for draft in [entry.path for entry in entries if name.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                _remove_abandoned(draft)


def _draft_prefix(real: Path) -> str:
    """How the names of a file's drafts begin; a name has room for 255 bytes."""
    return f".{real.name[:50]}.onnxlint-"


def _remove_abandoned(draft: str) -> None:
    """Remove a regular file of this user that no process holds a lock on. Raises OSError where one does."""
    handle = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.lstat(draft), status):
                os.unlink(draft)  # noqa: PTH108
    finally:
        os.close(handle)


@contextlib.contextmanager
def _draft(real: Path) -> Iterator[tuple[Path, int]]:
    """A new file beside another, with a handle to write to; it is locked until it is in the other's place or gone."""
    import tempfile

    while True:
        handle, name = tempfile.mkstemp(dir=real.parent, prefix=_draft_prefix(real))
        lock = os.dup(handle)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        if fcntl is None or os.fstat(lock).st_nlink:
            break
        os.close(handle)  # another process took it for abandoned before it was locked
        os.close(lock)
    if fcntl is None:  # a file that is open cannot be replaced there
        os.close(lock)
    try:
        yield Path(name), handle
    finally:
        if fcntl is not None:
            os.close(lock)


def _replace(new: Path, old: Path, held: list[int]) -> None:
    if held:
        raise StoppedError("stopped by a signal")
    new.replace(old)


@contextlib.contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Signals that came meanwhile; they are delivered at the end, so that nothing stays half done."""
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return

    def hold(number: int, _frame: FrameType | None) -> None:
        held.append(number)

    before = {number: signal.signal(number, hold) for number in heeded()}
    try:
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


def _take_over(new: Path, old: Path) -> None:
    """Give a new file the mode and, where that is allowed, the owner of the old one."""
    if not old.exists():
        mask = os.umask(0)
        os.umask(mask)
        new.chmod(0o666 & ~mask)
        return
    status = old.stat()
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with contextlib.suppress(OSError):
            os.chown(new, status.st_uid, status.st_gid)
    new.chmod(status.st_mode & 0o7777)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
