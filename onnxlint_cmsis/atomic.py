"""Writing a text file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: str, text: str) -> None:
    """Replace a file by the text; an OSError leaves the old file as it was. Devices and pipes are written to."""
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    import tempfile

    real = target.resolve()
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_mode(real))
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Permissions of the file, or those a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
