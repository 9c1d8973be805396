"""Replacing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.file_fix import fix_file, replace_file
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.ground import atomic_write, files
from support.signals import heeding, ignoring


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    return path


def alone(path: Path, content: bytes) -> bool:
    """The file has the content, and nothing was left beside it."""
    return path.read_bytes() == content and list(path.parent.iterdir()) == [path]


def test_a_file_is_replaced_and_keeps_its_mode(model: Path) -> None:
    model.chmod(0o640)
    replace_file(model, b"new", expected=b"old")
    assert alone(model, b"new")
    assert model.stat().st_mode & 0o7777 == 0o640


def test_a_link_still_leads_to_the_file(model: Path) -> None:
    link = model.parent / "link.onnx"
    link.symlink_to(model)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert model.read_bytes() == b"new"


def test_a_file_that_was_changed_meanwhile_stays(model: Path) -> None:
    with pytest.raises(OSError, match="changed by someone else"):
        replace_file(model, b"new", expected=b"older")
    assert alone(model, b"old")


def test_a_file_that_is_not_writable_stays(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError, match="not writable"):
        replace_file(model, b"new")
    assert alone(model, b"old")


def test_there_has_to_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none.onnx", b"new")
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(tmp_path, b"new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "write", "chmod", "replace"])
def test_a_full_disk_leaves_the_old_bytes(model: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    elif step == "write":
        opened = os.fdopen

        class Full:
            def __init__(self, handle: int, mode: str) -> None:
                self.file = opened(handle, mode)

            def __enter__(self) -> Full:
                return self

            def __exit__(self, *_args: object) -> None:
                self.file.close()

            write = full

        monkeypatch.setattr(os, "fdopen", Full)
    else:
        monkeypatch.setattr(Path, step, full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(model, b"new")
    monkeypatch.undo()
    assert alone(model, b"old")


def test_a_really_full_disk_leaves_the_old_bytes(model: Path) -> None:
    resource = pytest.importorskip("resource")
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from onnxlint_cmsis.cli.file_fix import replace_file\n"
        "try: replace_file(sys.argv[1], b'n' * 5000)\n"
        "except OSError as error: print(error.strerror)"
    )
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run([sys.executable, "-c", code, str(model)], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"
    assert alone(model, b"old")


def test_what_is_read_back_has_to_be_what_was_written(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path)[:-1] if path.name.startswith(".") else read(path))
    with pytest.raises(OSError, match="read back differs from the bytes written"):
        replace_file(model, b"new")
    monkeypatch.undo()
    assert alone(model, b"old")


@pytest.mark.parametrize("number", atomic_write.DEADLY)
def test_a_signal_while_the_file_is_written_leaves_the_old_bytes_unless_it_is_ignored(model: Path, number: int) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from onnxlint_cmsis.ground.atomic_write import write_bytes\n"
        "def check(new):\n"
        "    assert new.read_bytes() == b'new'\n"
        "    os.kill(os.getpid(), int(sys.argv[2]))\n"
        "write_bytes(Path(sys.argv[1]), b'new', check=check)\n"
    )
    argv = [sys.executable, "-c", code, str(model), str(int(number))]
    done = subprocess.run(argv, capture_output=True, check=False, preexec_fn=heeding)
    assert done.returncode == -number or (number == signal.SIGINT and b"KeyboardInterrupt" in done.stderr)
    assert alone(model, b"old")
    done = subprocess.run(argv, capture_output=True, check=False, preexec_fn=ignoring(number))
    assert done.returncode == 0, done.stderr
    assert alone(model, b"new")


@pytest.mark.skipif(not hasattr(signal, "SIGTERM") or os.name == "nt", reason="this system has no POSIX signals")
def test_a_process_that_is_ended_at_any_time_leaves_one_whole_file(model: Path) -> None:
    code = (
        "import sys\n"
        "from onnxlint_cmsis.cli.file_fix import replace_file\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    replace_file(sys.argv[1], b'n' * 100_000)\n"
        "    replace_file(sys.argv[1], b'o' * 100_000)\n"
    )
    for round_ in range(10):
        argv = [sys.executable, "-c", code, str(model)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, preexec_fn=heeding)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * round_)
        process.terminate()
        assert process.wait(10) == -signal.SIGTERM
        process.stdout.close()
        assert list(model.parent.iterdir()) == [model]
        assert model.read_bytes() in (b"old", b"n" * 100_000, b"o" * 100_000)


def test_an_exception_of_any_kind_leaves_the_old_bytes(model: Path) -> None:
    def check(_new: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic_write.write_bytes(model, b"new", check=check)
    assert alone(model, b"old")


def test_handlers_of_signals_are_put_back(model: Path) -> None:
    before = [signal.getsignal(number) for number in atomic_write.DEADLY]
    replace_file(model, b"new")
    assert [signal.getsignal(number) for number in atomic_write.DEADLY] == before


KILLED = """
import os, signal, sys
from pathlib import Path
from onnxlint_cmsis.ground.atomic_write import write_bytes
write_bytes(Path(sys.argv[1]), b"new", check=lambda new: (print(new.name, flush=True), {then}))
"""
needs_locks = pytest.mark.skipif(files.fcntl is None, reason="this system has no locks that end with a process")


@needs_locks
def test_what_a_killed_process_left_is_removed_by_the_next(model: Path) -> None:
    code = KILLED.format(then="os.kill(os.getpid(), signal.SIGKILL)")
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code, str(model)], capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
        assert len(list(model.parent.iterdir())) == 2  # that of the run before is gone
    fix_file(str(model), make_settings(str(model)), write=False)
    assert len(list(model.parent.iterdir())) == 2  # who writes nothing removes nothing
    fix_file(str(model), make_settings(str(model)), write=True)
    assert alone(model, b"old")


@needs_locks
def test_the_draft_of_a_process_that_lives_stays(model: Path) -> None:
    code = KILLED.format(then="sys.stdin.read()")
    argv = [sys.executable, "-c", code, str(model)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    draft = model.parent / process.stdout.readline().strip()
    atomic_write.remove_leftovers(model)
    assert draft.read_bytes() == b"new"
    process.stdin.close()
    assert process.wait(10) == 0
    assert alone(model, b"new")


@needs_locks
def test_only_drafts_of_the_file_itself_are_removed(model: Path) -> None:
    kept = [".m.onnx.abcdefgh", ".m.onnx.onnxlint-short", ".m.onnx.onnxlint-abcdefghi", ".n.onnx.onnxlint-abcdefgh"]
    kept += [".m.onnx.onnxlint-ABCDEFGH", "m.onnx.onnxlint-abcdefgh"]
    for name in kept:
        (model.parent / name).write_bytes(b"mine")
    (model.parent / ".m.onnx.onnxlint-folder__").mkdir()
    (model.parent / ".m.onnx.onnxlint-link____").symlink_to(kept[0])
    os.mkfifo(model.parent / ".m.onnx.onnxlint-pipe____")
    before = {path.name for path in model.parent.iterdir()}
    (model.parent / ".m.onnx.onnxlint-abcdefgh").write_bytes(b"left")
    atomic_write.remove_leftovers(model)
    assert {path.name for path in model.parent.iterdir()} == before


def test_a_file_of_a_long_name_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 120 + ".onnx")
    path.write_bytes(b"old")
    replace_file(path, b"new")
    assert alone(path, b"new")
