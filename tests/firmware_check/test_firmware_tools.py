"""Broken tools and caches, closed streams, signals: a sentence and exit 2, or the usual end; nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from firmware_check.errors import FirmwareError
from firmware_check.toolchain import Processes, cache_folder
from support import paths
from support.firmware_models import one_layer
from support.firmware_runs import broken_library, check, needs_firmware, running
from support.goldens import Told
from support.signals import heeding

ENDLESS = 'for (;;) { __asm__ volatile(""); }'


def instead_of(tool: str, script: str, folder: Path) -> dict[str, str]:
    """An environment whose PATH has a script for a tool; `REAL` in it is the real one."""
    path = folder / "bin" / tool
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script.replace('REAL', str(shutil.which(tool)))}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache")}


VERSION = 'case "$*" in *--version*) exec REAL "$@";; esac; '


@needs_firmware
@pytest.mark.parametrize(
    ("tool", "script", "said"),
    [
        ("arm-none-eabi-gcc", "echo nonsense >&2; exit 1", "--version ends with exit code 1: nonsense; a broken"),
        ("arm-none-eabi-gcc", "exit 0", "--version says nothing: a broken compiler?"),
        ("arm-none-eabi-gcc", "kill -9 $$", "--version ends with exit code -9; a broken compiler?"),
        ("arm-none-eabi-gcc", f"{VERSION}printf '\\377\\n' >&2; exit 1", "arm-none-eabi-gcc: \ufffd"),
        ("arm-none-eabi-gcc", f"{VERSION}exit 1", "arm-none-eabi-gcc: no message"),
        ("arm-none-eabi-gcc", f"{VERSION}exit 0", "made no object of "),
        ("arm-none-eabi-gcc", VERSION + 'for a; do o="$a"; done; : > "$o"', "made no object of "),
        ("arm-none-eabi-size", "exit 0", "arm-none-eabi-size says no sizes of"),
        ("arm-none-eabi-size", "echo a b c; echo d e f", "arm-none-eabi-size says no sizes of"),
        ("arm-none-eabi-nm", "echo nonsense", "arm-none-eabi-nm says no symbols of"),
        ("qemu-system-arm", "exit 3", "QEMU ended without a report: no message"),
        ("qemu-system-arm", "echo nonsense; echo oh dear >&2; exit 1", "QEMU ended without a report: oh dear"),
        ("qemu-system-arm", "while :; do echo nonsense; sleep 0.05; done", "the firmware did not end within 5 s"),
    ],
)
def test_a_broken_tool_is_said_in_one_line(tool: str, script: str, said: str, tmp_path: Path) -> None:
    done = check(one_layer(tmp_path), "--timeout", "5", env=instead_of(tool, script, tmp_path))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("firmware_check: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not list((tmp_path / "cache").rglob("*.tmp"))


@needs_firmware
def test_a_compiler_that_the_system_cannot_start_is_said(tmp_path: Path, told: Told) -> None:
    env = instead_of("arm-none-eabi-gcc", "", tmp_path)
    (tmp_path / "bin" / "arm-none-eabi-gcc").write_bytes(b"\x7fELF nonsense")
    done = check(one_layer(tmp_path), env=env)
    assert done.returncode == 2
    told(done.stderr)


@pytest.mark.parametrize("cache", ["file", "file/below", "/proc/none"])
def test_a_cache_that_cannot_be_made_is_said(cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    with pytest.raises(FirmwareError, match=r"no folder for compiled objects: .*; XDG_CACHE_HOME names another place"):
        cache_folder()


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(FirmwareError, match="Could not determine home directory"):
        cache_folder()


@needs_firmware
@pytest.mark.parametrize("damage", [b"", b"half", None], ids=["empty", "damaged", "of an older version"])
def test_objects_that_are_not_whole_are_made_again(damage: bytes | None, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    model = one_layer(tmp_path)
    first = check(model, env=env)
    assert first.returncode == 0, first.stderr
    objects = sorted((tmp_path / "cache").rglob("*.o"))
    assert objects
    whole = {path: path.read_bytes() for path in objects}
    for path in objects:
        if damage is None:
            path.with_suffix(".sha256").unlink()
            path.write_bytes(b"")
        else:
            path.write_bytes(damage if damage == b"" else whole[path][: len(whole[path]) // 2])
    again = check(model, env=env)
    assert (again.returncode, again.stdout, again.stderr) == (0, first.stdout, "")
    assert {path: path.read_bytes() for path in objects} == whole
    assert not list((tmp_path / "cache").rglob("*.tmp"))


@needs_firmware
def test_places_with_spaces_quotes_and_commas_build(tmp_path: Path) -> None:
    odd = tmp_path / "a b,'c\"d\\e"
    odd.mkdir()
    done = check(one_layer(tmp_path), env={"XDG_CACHE_HOME": str(odd), "TMPDIR": str(odd)})
    assert (done.returncode, done.stderr) == (0, "")


@needs_firmware
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes through /proc")
def test_the_time_limit_holds_for_a_wrapped_qemu(tmp_path: Path, told: Told) -> None:
    """A script around QEMU that waits for it, and does not heed SIGTERM."""
    library = broken_library(tmp_path, ENDLESS)
    env = instead_of("qemu-system-arm", 'trap "" TERM; REAL "$@"; exit $?', tmp_path)
    began = time.monotonic()
    done = check(
        one_layer(tmp_path), "--cmsis-nn", str(library), "--timeout", "2", env={**env, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 2
    told(done.stderr)
    assert time.monotonic() - began < 90
    assert not [line for line in running(str(tmp_path)) if "qemu" in line]


@needs_firmware
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes through /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_compiler_that_hangs(name: str, tmp_path: Path) -> None:
    env = instead_of("arm-none-eabi-gcc", VERSION + "sleep 987; exit 1", tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "firmware_check", one_layer(tmp_path)],
        cwd=paths.ROOT, env={**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": str(tmp_path), **env},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding,
    )  # fmt: skip
    end = time.monotonic() + 60
    compiling = str(tmp_path / "bin" / "arm-none-eabi-gcc")
    while not [line for line in running(compiling) if "-c\0" in line] and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said.split()[-3:]) == (2, ["ended", "by", name])
    assert not running(compiling)
    assert not list(tmp_path.glob("firmware_check-*"))
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def test_processes_that_were_stopped_start_no_other() -> None:
    processes = Processes()
    processes.stop()
    with pytest.raises(FirmwareError, match="the run was ended"):
        processes.output(["true"])


def test_the_end_of_a_process_ends_what_it_started() -> None:
    if not Path("/proc").is_dir():
        pytest.skip("lists processes through /proc")
    with Processes().started(["sh", "-c", "sleep 98761 & sleep 98761 & wait"]):
        end = time.monotonic() + 10
        while len(running("98761")) < 2 and time.monotonic() < end:
            time.sleep(0.02)
    end = time.monotonic() + 10  # a killed process is listed until the system has taken it away
    while (left := [line for line in running("98761") if line.startswith("sleep")]) and time.monotonic() < end:
        time.sleep(0.02)
    assert left == []


@needs_firmware
@pytest.mark.parametrize(
    ("streams", "arguments"),
    [
        *product((">&-", "| true"), ((), ("--json", "-"), ("--markdown", "-"), ("--sarif", "-"))),
        *product((">&- 2>&-", ">&- 2>&- <&-", "2>&1 | true", "| head -1"), ((), ("--trace",))),
    ],
)
def test_closed_streams_end_in_the_usual_exit_code(streams: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    for model, code in ((one_layer(tmp_path), 0), (str(tmp_path / "none.onnx"), 2)):
        command = f'"{sys.executable}" -m firmware_check "{model}" {" ".join(arguments)}'
        line = f"({command} 3>&-; echo $? > code) {streams}"
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(paths.ROOT)}, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        assert int((tmp_path / "code").read_text(encoding="ascii")) == code, done.stderr
        assert "Traceback" not in done.stderr + done.stdout
        assert "Error" not in done.stderr


@needs_firmware
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this system")
def test_a_full_disk_is_said(tmp_path: Path, told: Told) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "firmware_check", one_layer(tmp_path)], cwd=tmp_path, check=False, text=True,
            env={**os.environ, "PYTHONPATH": str(paths.ROOT)}, stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 2
    told(done.stderr)


@needs_firmware
def test_the_report_begins_with_the_library_and_ends_with_the_linters_default(tmp_path: Path, told: Told) -> None:
    path = tmp_path / "report.json"
    done = check(one_layer(tmp_path), "--json", str(path), "--markdown", str(tmp_path / "report.md"))
    first, *_, last = done.stdout.splitlines()
    told(first)
    told(last)
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["cmsis_nn"] == {"release": "4.0.0", "from": "bakenn"}
    assert report["checks"][0]["otherwise_in_default_release"] == []
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"Proven here: {first.partition(': ')[2]}"
    assert lines[-1].endswith("proves another release")
