"""Runs that end badly: by a signal, without a board, with a model that no board holds. Nothing is left running."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import example_models as models
from firmware_check.emulator import leash
from support import paths
from support.firmware_models import one_layer
from support.firmware_runs import broken_library, check, needs_firmware, running
from support.goldens import Told
from support.quantized_models import Qdq, convolution
from support.signals import heeding, ignoring

pytestmark = needs_firmware

ENDLESS = 'for (;;) { __asm__ volatile(""); }'


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes through /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_nothing_is_left_running_after_a_signal(name: str, tmp_path: Path) -> None:
    if name == "SIGKILL" and not shutil.which("setpriv"):
        pytest.skip("setpriv, which ends QEMU with a killed parent, is not on the PATH")
    library = broken_library(tmp_path, ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "firmware_check", one_layer(tmp_path), "--cmsis-nn", str(library)],
        cwd=paths.ROOT, env={**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding,
    )  # fmt: skip
    assert waited(lambda: bool(emulators(tmp_path)))
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert waited(lambda: not emulators(tmp_path))
    if name != "SIGKILL":
        assert (process.returncode, said.split()[-3:]) == (2, ["ended", "by", name])
        assert not list(tmp_path.glob("firmware_check-*"))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes through /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_a_signal_that_is_ignored_at_the_start_ends_no_run(name: str, tmp_path: Path) -> None:
    """As `nohup` and shells without job control start a program."""
    number = getattr(signal, name)
    process = subprocess.Popen(
        [sys.executable, "-m", "firmware_check", one_layer(tmp_path), "--target", "cortex-m4"],
        cwd=paths.ROOT, env={**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=ignoring(number),
    )  # fmt: skip
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.02)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="lists processes through /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_mnist_leaves_nothing_behind_after_a_signal(name: str, tmp_path: Path) -> None:
    import numpy as np

    for file, shape in (("images", (120, 4, 4)), ("labels", (120,))):
        head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
        (tmp_path / file).write_bytes(head + bytes(int(np.prod(shape))))
    weights = models.with_biases({"w": models.filters(4, 1, 2, 2)})
    model = models.save(tmp_path, "one", [models.conv("x", "w", "y")], ([1, 1, 4, 4], [1, 4, 3, 3]), weights)
    folder = tmp_path / "passing"
    folder.mkdir()
    library = broken_library(tmp_path, ENDLESS)
    files = [str(tmp_path / file) for file in ("images", "labels")]
    process = subprocess.Popen(
        [sys.executable, "scripts/mnist_firmware.py", model, *files, "--images", "20", "--cmsis-nn", str(library)],
        cwd=paths.ROOT, env={**os.environ, "PYTHONPATH": str(paths.ROOT), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding,
    )  # fmt: skip
    assert waited(lambda: bool(emulators(folder)))
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said.split()[-3:]) == (2, ["ended", "by", name])
    assert waited(lambda: not emulators(folder))
    assert not list(folder.iterdir())


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not on the PATH")
def test_a_command_whose_parent_died_before_it_began_does_not_run() -> None:
    """Two emulators begin at a time; one ran on whose parent was killed between its fork and its leash."""
    ran = [
        subprocess.run([*leash(parent), "echo", "one $two"], capture_output=True, text=True, check=False).stdout
        for parent in (os.getpid(), os.getpid() + 1)
    ]
    assert ran == ["one $two\n", ""]


def emulators(folder: Path) -> list[str]:
    """QEMU's processes whose image lies in the folder."""
    return [line for line in running(str(folder)) if line.split("\0")[0].endswith("qemu-system-arm")]


def waited(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether a condition comes true in some time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_qemu_without_the_board_is_said(tmp_path: Path, told: Told) -> None:
    """A QEMU of the same command line, whose board of that name is none."""
    real = shutil.which("qemu-system-arm")
    fake = tmp_path / "bin" / "qemu-system-arm"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nshift 2\nexec {real} -M no-such-board "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    done = check(one_layer(tmp_path), env={"PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert done.returncode == 2
    told(done.stderr)


@pytest.mark.parametrize("quantized", [True, False], ids=["quantized", "float"])
def test_activations_too_large_for_the_board_are_said_at_once(quantized: bool, tmp_path: Path, told: Told) -> None:
    """Before anything is quantized, computed or compiled: nothing but the message is to be waited for."""
    path = tmp_path / "wide.onnx"
    if quantized:
        onnx.save(convolution(Qdq((1, 4, 1100, 1100))).model(), path)
    else:
        weights = models.with_biases({"w": models.filters(4, 4, 3, 3)})
        shape = [1, 4, 1100, 1100]
        models.save(tmp_path, "wide", [models.conv("x", "w", "y", pads=[1] * 4)], (shape, shape), weights)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = check(str(path), "--target", "cortex-m55")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 2
    told(done.stderr)
    assert after.ru_utime - before.ru_utime < 2


def test_a_library_that_does_not_compile_is_said(tmp_path: Path) -> None:
    done = check(one_layer(tmp_path), "--cmsis-nn", str(broken_library(tmp_path, "no such word;")))
    assert done.returncode == 2
    assert "arm_convolve_s8.c" in done.stderr
    assert len(done.stderr.splitlines()) == 1
