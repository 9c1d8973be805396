"""What stands at a path that is no plain file, or a file with several names: told, never waited for, never harmed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import paths
from support.fix_command import contents, run, text
from support.fixable_models import gaining, nothing

ROOT = paths.ROOT
MODES = ((), ("--fix",), ("--fix-only",), ("--diff",), ("--fix", "--jobs", "2"))

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def at_once(folder, *argv):
    """The program, which must not wait for anyone."""
    return subprocess.run(
        [sys.executable, "-m", "onnxlint_cmsis", "--isolated", *argv],
        cwd=folder, check=False, capture_output=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def pipe(path):
    os.mkfifo(path)


def endless_device(path):
    path.symlink_to("/dev/zero")


def empty_device(path):
    path.symlink_to("/dev/null")


def unix_socket(path):
    with tempfile.TemporaryDirectory(dir="/tmp") as short, socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{short}/s")  # the address of a socket may have no more than 108 characters
        Path(short, "s").rename(path)


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
@pytest.mark.parametrize("made", [pipe, endless_device, empty_device, unix_socket])
def test_what_is_no_regular_file_is_told_and_not_waited_for(tmp_path, made, mode):
    made(tmp_path / "x.onnx")
    (tmp_path / "other.onnx").write_bytes(nothing())
    done = at_once(tmp_path, *mode, "x.onnx", "other.onnx")
    assert done.returncode == 2
    assert "x.onnx: CNN001 error is not a regular file; a model is one file, or - for standard input" in text(done)
    assert done.stderr == b""


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_a_folder_with_a_models_name_and_no_model_is_told(tmp_path, mode):
    (tmp_path / "x.onnx").mkdir()
    done = at_once(tmp_path, *mode, "x.onnx")
    assert done.returncode == 2
    assert "x.onnx: CNN001 error is a folder; a model is one file, or - for standard input" in text(done)


def test_a_folder_with_a_models_name_and_models_in_it_is_searched(tmp_path):
    (tmp_path / "x.onnx").mkdir()
    (tmp_path / "x.onnx" / "m.onnx").write_bytes(nothing())
    assert text(at_once(tmp_path, "--show-files", "x.onnx")) == str(Path("x.onnx", "m.onnx")) + "\n"


def test_a_search_meets_a_pipe_and_goes_on(tmp_path):
    pipe(tmp_path / "x.onnx")
    (tmp_path / "other.onnx").write_bytes(nothing())
    (tmp_path / "folder.onnx").mkdir()
    done = at_once(tmp_path, "--fix", ".")
    assert done.returncode == 2
    assert "x.onnx: CNN001 error is not a regular file" in text(done)
    assert "other.onnx: left as it is" in text(done)
    assert "folder.onnx" not in text(done)


@pytest.mark.parametrize("command", ["layers"])
@pytest.mark.parametrize("made", [pipe, endless_device, unix_socket, Path.mkdir])
def test_other_commands_do_not_wait_either(tmp_path, made, command):
    made(tmp_path / "x.onnx")
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint_cmsis", command, "x.onnx"], cwd=tmp_path, check=False, capture_output=True,
        timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert b"x.onnx: is " in done.stderr


SPLIT = "the file has another name (hard link), which {} the old bytes"


def test_a_fixed_file_with_a_second_name_says_that_this_one_keeps_the_old_bytes(tmp_path):
    (tmp_path / "m.onnx").write_bytes(gaining())
    os.link(tmp_path / "m.onnx", tmp_path / "copy")
    shown = text(run(tmp_path, "--diff", "m.onnx"))
    assert f"note     {SPLIT.format('would keep')}" in shown
    assert contents(tmp_path) == dict.fromkeys(("m.onnx", "copy"), gaining())
    done = run(tmp_path, "--fix", "m.onnx")
    assert f"note     {SPLIT.format('keeps')}" in text(done)
    assert (tmp_path / "copy").read_bytes() == gaining()
    assert (tmp_path / "m.onnx").read_bytes() != gaining()
    assert "hard link" not in text(run(tmp_path, "--fix", "m.onnx"))


def test_json_and_github_tell_of_second_names_too(tmp_path):
    (tmp_path / "m.onnx").write_bytes(gaining())
    for name in ("a", "b"):
        os.link(tmp_path / "m.onnx", tmp_path / name)
    done = run(tmp_path, "--diff", "--output-format", "json", "m.onnx")
    (file,) = json.loads(text(done))["files"]
    assert file["fix"]["notes"] == ["the file has 2 other names (hard links), which would keep the old bytes"]
    assert "hard links" in text(run(tmp_path, "--diff", "--output-format", "github", "m.onnx"))


def test_a_file_that_stays_says_nothing_of_its_other_names(tmp_path):
    (tmp_path / "m.onnx").write_bytes(nothing())
    os.link(tmp_path / "m.onnx", tmp_path / "copy")
    assert "hard link" not in text(run(tmp_path, "--fix", "m.onnx"))
