"""Runs of Python that start as copies of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.forked import CAN_FORK, python

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="only Linux copies processes here")


def gone(_process: int, _signal: int) -> None:
    """What the system says of a process that has ended."""
    raise ProcessLookupError


@pytest.mark.parametrize(
    ("code", "number"),
    [("import sys; sys.exit(3)", 3), ("raise SystemExit('no')", 1), ("1 / 0", 1), ("import os; os.abort()", -6)],
)
def test_a_copy_ends_as_a_new_python(code: str, number: int, tmp_path: Path) -> None:
    new = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    copied = python(["-c", code], tmp_path)
    assert (copied.returncode, copied.stdout) == (new.returncode, new.stdout) == (number, b"")


def test_a_copy_that_ends_as_patience_does_leaves_the_next_one_its_own_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", gone)
        with pytest.raises(subprocess.TimeoutExpired):
            python(["-c", "import time; time.sleep(0.3)"], tmp_path, patience=0.01)
    assert [python(["-c", f"import sys; sys.exit({number})"], tmp_path).returncode for number in (5, 6)] == [5, 6]


def test_a_copy_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    code = "import os, pathlib, time; pathlib.Path('number').write_text(str(os.getpid())); time.sleep(60)"
    with pytest.raises(subprocess.TimeoutExpired):
        python(["-c", code], tmp_path, patience=2)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text()), 0)
    assert python(["-c", "pass"], tmp_path).returncode == 0
