"""What stands at a path that is no plain file, or a file with several names: told, never waited for, never harmed."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from onnxlint_cmsis.cli.main import main
from support.fix_command import contents, run, text
from support.fixable_models import gaining, nothing
from support.forked import python

MODES = ((), ("--fix",), ("--fix-only",), ("--diff",), ("--fix", "--jobs", "2"))

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def at_once(folder, *argv):
    """The program, which must not wait for anyone."""
    return python(["-m", "onnxlint_cmsis", "--isolated", *argv], folder, patience=60)


def pipe(path):
    os.mkfifo(path)


def endless_device(path):
    path.symlink_to("/dev/zero")


def empty_device(path):
    path.symlink_to("/dev/null")


def unix_socket(path):
    with tempfile.TemporaryDirectory(dir="/tmp") as short, socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{short}/s")  # the address of a socket may have no more than 108 characters
        Path(short, "s").rename(path)


def link_to_itself(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_a_link_to_itself_cannot_be_read(tmp_path, mode):
    link_to_itself(tmp_path / "loop.onnx")
    done = at_once(tmp_path, *mode, "loop.onnx")
    assert (done.returncode, b"internal error" in done.stderr) == (2, False)
    assert b"cannot be read: Too many levels of symbolic links" in done.stdout + done.stderr


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_what_is_no_regular_file_is_told_and_not_waited_for(tmp_path, mode, told):
    makers = (pipe, endless_device, empty_device, unix_socket, Path.mkdir)
    names = [f"{number}.onnx" for number in range(len(makers))]
    for name, make in zip(names, makers, strict=True):
        make(tmp_path / name)
    (tmp_path / "other.onnx").write_bytes(nothing())
    done = at_once(tmp_path, *mode, *names, "other.onnx")
    assert done.returncode == 2
    told(text(done))
    assert done.stderr == b""


def test_a_folder_with_a_models_name_and_models_in_it_is_searched(tmp_path):
    (tmp_path / "x.onnx").mkdir()
    (tmp_path / "x.onnx" / "m.onnx").write_bytes(nothing())
    assert text(at_once(tmp_path, "--show-files", "x.onnx")) == str(Path("x.onnx", "m.onnx")) + "\n"


def test_a_search_meets_a_pipe_and_goes_on(tmp_path, told):
    pipe(tmp_path / "x.onnx")
    (tmp_path / "other.onnx").write_bytes(nothing())
    (tmp_path / "folder.onnx").mkdir()
    done = at_once(tmp_path, "--fix", ".")
    assert done.returncode == 2
    told(text(done))
    told(text(done))
    assert "folder.onnx" not in text(done)


@pytest.mark.parametrize("command", ["layers"])
@pytest.mark.parametrize("make", [pipe, endless_device, unix_socket, Path.mkdir])
def test_other_commands_do_not_wait_either(tmp_path, make, command):
    make(tmp_path / "x.onnx")
    done = python(["-m", "onnxlint_cmsis", command, "x.onnx"], tmp_path, patience=60)
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


def test_json_and_github_tell_of_second_names_too(tmp_path, told):
    (tmp_path / "m.onnx").write_bytes(gaining())
    for name in ("a", "b"):
        os.link(tmp_path / "m.onnx", tmp_path / name)
    done = run(tmp_path, "--diff", "--output-format", "json", "m.onnx")
    (file,) = json.loads(text(done))["files"]
    told(file["fix"]["notes"])
    assert "hard links" in text(run(tmp_path, "--diff", "--output-format", "github", "m.onnx"))


def test_a_file_that_stays_says_nothing_of_its_other_names(tmp_path):
    (tmp_path / "m.onnx").write_bytes(nothing())
    os.link(tmp_path / "m.onnx", tmp_path / "copy")
    assert "hard link" not in text(run(tmp_path, "--fix", "m.onnx"))


NAMED = (
    ("m.onnx", "--config", "{}"), ("m.onnx", "--isolated", "--baseline", "{}"), ("layers", "{}"), ("memory", "{}"),
    ("widths", "{}"), ("compare", "m.onnx", "{}"), ("report", "{}", "-o", "p.html"), ("image", "{}"),
    ("layers", "m.onnx", "--api", "legacy", "--calibration", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("words", NAMED, ids=" ".join)
@pytest.mark.parametrize("make", [endless_device, pipe])
def test_a_file_that_is_named_is_a_regular_one(tmp_path, make, words):
    (tmp_path / "m.onnx").write_bytes(nothing())
    make(tmp_path / "named")
    done = at_once_any(tmp_path, *(word.format("named") for word in words))
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"named" in done.stderr and b"regular file" in done.stderr, done.stderr


def test_a_baseline_of_the_configuration_is_a_regular_file(tmp_path):
    (tmp_path / "m.onnx").write_bytes(nothing())
    (tmp_path / "onnxlint-cmsis.toml").write_text('baseline = "/dev/zero"\n')
    done = at_once_any(tmp_path, "m.onnx")
    assert done.returncode == 2
    assert b"/dev/zero: the baseline cannot be read: is not a regular file" in done.stderr


def test_a_configuration_is_no_device(tmp_path):
    (tmp_path / "m.onnx").write_bytes(nothing())
    (tmp_path / "onnxlint-cmsis.toml").symlink_to("/dev/zero")
    assert at_once_any(tmp_path, "m.onnx").returncode == 0  # what is no regular file is no configuration


@pytest.mark.parametrize("command", [("lint", "-"), ("layers", "-"), ("memory", "-"), ("shape",)])
def test_an_endless_standard_input_is_bounded(tmp_path, command):
    code = (
        "import sys\n"
        "from onnxlint_cmsis.cli import main, discovery, shape_command\n"
        "discovery.MODEL = shape_command.TEXT = 10_000_000\n"
        "sys.exit(main.main(sys.argv[1:]))\n"
    )
    with Path("/dev/zero").open("rb") as endless:
        done = python(["-c", code, *command], tmp_path, given=endless, patience=60)
    assert done.returncode == 2
    assert b"10000000 bytes" in done.stderr, done.stderr


@pytest.mark.parametrize("text", ["[" * 100_000, "a = " + "[" * 100_000])
@pytest.mark.parametrize("option", ["--config", "--baseline"])
def test_nesting_without_end_is_one_line(tmp_path, option, text):
    (tmp_path / "m.onnx").write_bytes(nothing())
    (tmp_path / "deep.toml").write_text(text)
    done = at_once_any(tmp_path, "m.onnx", option, "deep.toml")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1 and b"not valid" in done.stderr, done.stderr[:500]


def test_an_archive_of_calibration_inputs_is_bounded(tmp_path):
    """Two gigabytes of zeros take two megabytes of a zip file."""
    (tmp_path / "m.onnx").write_bytes(nothing())
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|i1", "fortran_order": False, "shape": (2**40,)})
    (tmp_path / "huge.npy").write_bytes(header.getvalue())
    whole = zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with whole as archive, archive.open("x.npy", "w", force_zip64=True) as member:
        for _ in range(2049):
            member.write(bytes(2**20))
    for name in ("huge.npy", "bomb.npz"):
        done = at_once_any(tmp_path, "layers", "m.onnx", "--api", "legacy", "--calibration", name)
        assert done.returncode == 2
        assert done.stderr.startswith(b"onnxlint-cmsis: error: --calibration: " + name.encode()), done.stderr


@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_that_cannot_be_listed_is_named(tmp_path, inner, capsys, monkeypatch):
    """The rest is linted all the same."""
    (tmp_path / "m.onnx").write_bytes(nothing())
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "n.onnx").write_bytes(nothing())
    scan = os.scandir

    def refusing(path):
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    monkeypatch.chdir(tmp_path)
    named = "." if inner else "shut"
    for words in ((), ("--show-files",), ("--exit-zero",), ("--write-baseline", "b.json"), ("--output-format", "json")):
        assert main(["--isolated", named, *words]) == 2
        said = capsys.readouterr()
        assert f"shut: the folder cannot be listed: {os.strerror(errno.EACCES)}\n" in said.err
        assert "no .onnx" not in said.err
        if words == ("--output-format", "json"):
            assert json.loads(said.out)["exit_code"] == 2


def at_once_any(folder, *argv):
    """The program with the configuration that it finds, which must not wait for anyone."""
    return python(["-m", "onnxlint_cmsis", *argv], folder, patience=60)
