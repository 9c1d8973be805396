"""Scans as separate processes, and what they wrote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.models import one_node
from support.paths import ROOT

PATIENCE = 60
"""Seconds after which a test gives up waiting."""


def model(channels: int = 8) -> bytes:
    return one_node("Conv", [1, channels, 9, 9], {"w": (4, channels, 3, 3)}).SerializeToString()


def models(folder: Path, number: int) -> list[Path]:
    """Different small models, in files."""
    paths = [folder / f"m{index:02}.onnx" for index in range(number)]
    for index, path in enumerate(paths):
        path.write_bytes(model(index + 4))
    return paths


def start(*argv: object) -> subprocess.Popen[str]:
    """A scan in the background."""
    command = [sys.executable, "-m", "onnxlint_cmsis", "scan", "--isolated", *map(str, argv)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def rows(out: Path | str) -> list[dict[str, object]]:
    """All rows of a scan's output."""
    from pyarrow import parquet

    return parquet.read_table(str(out)).to_pylist() if Path(out).exists() and any(Path(out).iterdir()) else []


def statuses(out: Path) -> dict[str, str]:
    """Name of each model with its status; a model may be there once only."""
    files = [(str(row["url"]).rpartition("/")[2], str(row["status"])) for row in rows(out) if row["kind"] == "file"]
    assert len(dict(files)) == len(files)
    return dict(files)


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.1)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
