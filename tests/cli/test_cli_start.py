"""What a process does before the command line is looked at."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

import pytest

from onnxlint_cmsis import __main__ as start
from onnxlint_cmsis.cli import main
from support.fixable_models import gaining
from support.paths import ROOT
from support.signals import heeding, ignoring


@pytest.mark.parametrize(
    ("given", "threads"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, None)],
)
def test_a_run_starts_no_threads_of_openblas_unless_asked(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], threads: str | None
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    monkeypatch.setattr(os, "_exit", lambda _code: None)
    monkeypatch.setattr(start.gc, "set_threshold", lambda _number: None)
    monkeypatch.setattr(main, "main", lambda _argv: 0)
    start.run()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads


COMMANDS = (
    ("m.onnx",), ("--help",), ("--version",), ("m.onnx", "--diff"), ("m.onnx", "--output-format", "json"),
    ("--show-files", "."), ("--show-settings", "m.onnx"), ("m.onnx", "--write-baseline", "b.json"), ("none.onnx",),
    ("layers", "m.onnx"), ("memory", "m.onnx"), ("compare", "m.onnx", "m.onnx"), ("widths", "m.onnx"),
    ("report", "m.onnx", "-o", "p.html"), ("rule", "--all"), ("rule",), ("config",), ("config", "--schema"),
    ("layerz", "m.onnx"),
    ("completion", "bash"), ("scan", "none.onnx", "--out", "rows"), ("shape", "none.jsonl"), ("image", "none.elf"),
    ("shape", "--wrapper", "convolve_s8", "--in", "1,8,8,4", "--filter", "4,3,3,4", "--out", "1,6,6,4"),
)  # fmt: skip
PROGRAMS = (COMMANDS[0], ("m.onnx", "--write-baseline", "b.json"), ("report", "m.onnx", "-o", "p.html"))
"""Those that are run as processes: one that writes to its streams alone, and two that open files."""
posix = pytest.mark.skipif(os.name == "nt", reason="this system has no POSIX signals and descriptors")


def program(folder: Path, redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program in a shell that redirects its streams."""
    line = f'exec "$@" {redirection}'
    argv = ["sh", "-c", line, "sh", sys.executable, "-m", "onnxlint_cmsis", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@posix
@pytest.mark.parametrize("words", PROGRAMS, ids=" ".join)
def test_no_closed_stream_of_a_process_is_an_error(words: tuple[str, ...], tmp_path: Path) -> None:
    """`>&-` closes standard output: what is written goes nowhere, and into no file that is opened later.

    Where the reader goes, as `| head -1` does, nothing more is said, and the exit code is the command's own or that of
    a broken pipe.
    """
    (tmp_path / "m.onnx").write_bytes(gaining())
    expected, files = program(tmp_path, "", *words), contents(tmp_path)
    for redirection in (">&-", "2>&-", "<&- >&- 2>&-"):
        done = program(tmp_path, redirection, *words)
        assert done.returncode == expected.returncode, (redirection, done.stderr)
        assert done.stderr == ("" if "2>" in redirection else expected.stderr)
        assert contents(tmp_path) == files
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-m", "onnxlint_cmsis", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        argv, cwd=tmp_path, env=environment, stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert done.returncode in (expected.returncode, main.BROKEN_PIPE)
    assert done.stderr == expected.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """What the files of a folder hold, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def command(words: tuple[str, ...], out: TextIO, err: TextIO) -> int:
    """Exit code of a command in this process, which writes to these streams."""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return main.main([*words])


@posix
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_needs_a_stream_or_a_reader(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that a process gets closed is one to the null device by the time that a command runs."""
    (tmp_path / "m.onnx").write_bytes(gaining())
    monkeypatch.chdir(tmp_path)
    told = io.StringIO()
    expected, files = command(words, io.StringIO(), told), contents(tmp_path)
    for out, err in ((True, False), (False, True), (True, True)):
        shutil.rmtree(tmp_path / "rows", ignore_errors=True)
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            said = io.StringIO()
            code = command(words, nowhere if out else io.StringIO(), nowhere if err else said)
        assert code == expected, said.getvalue()
        assert err or said.getvalue() == told.getvalue()
        assert contents(tmp_path) == files
    shutil.rmtree(tmp_path / "rows", ignore_errors=True)
    read, write = os.pipe()
    os.close(read)
    said = io.StringIO()
    with os.fdopen(write, "w", encoding="utf-8") as gone:
        assert command(words, gone, said) in (expected, main.BROKEN_PIPE)
    assert said.getvalue() == told.getvalue()


@posix
def test_ctrl_c_at_the_start_shows_no_traceback(tmp_path: Path) -> None:
    """While modules are imported, too: the process ends by the signal, or with the exit code that stands for it."""
    (tmp_path / "m.onnx").write_bytes(gaining())
    code = "import sys; sys.argv = ['x', 'm.onnx']; from onnxlint_cmsis.__main__ import run; print(flush=True); run()"
    for step in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heeding,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.02 + 0.02 * step)  # before that, Python's own handler may be in force
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert "Traceback" not in err, err
        assert process.returncode in (-signal.SIGINT, main.INTERRUPTED, 0, 1)


@posix
def test_an_ignored_ctrl_c_stays_ignored(tmp_path: Path) -> None:
    code = "import os, signal; from onnxlint_cmsis.__main__ import run; os.kill(os.getpid(), signal.SIGINT); run()"
    argv = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        argv, cwd=tmp_path, env=environment, capture_output=True, check=False, preexec_fn=ignoring(signal.SIGINT)
    )
    assert done.returncode == 0, done.stderr
