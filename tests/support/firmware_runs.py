"""Runs of the firmware check in a process, and what they need of the machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import firmware_check.cli  # noqa: F401 - once, and not in each of the processes
from firmware_check.compilers import CompilerRow, headers_of, program_of
from firmware_check.errors import FirmwareError
from support import paths
from support.forked import python

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
MISSING = [name for name in TOOLS if not shutil.which(name)]
REQUIRED = os.environ.get("ONNXLINT_FIRMWARE") == "1"
LEFT_OUT = os.environ.get("ONNXLINT_FIRMWARE") == "0"
CORES = ["--target", "cortex-m3", "--target", "cortex-m4", "--target", "cortex-m55"]
needs_firmware = pytest.mark.skipif(
    LEFT_OUT or (bool(MISSING) and not REQUIRED),
    reason="nothing of the firmware check changed (.ci/run)"
    if LEFT_OUT
    else f"scripts/test.sh did not install {', '.join(MISSING)} on this machine",
)
"""Where the tools are missing, the tests are left out; scripts/test.sh sets ONNXLINT_FIRMWARE to 1 where it has them.
With 0, as .ci/run sets it where neither the firmware check nor what it runs has changed, they are left out as well."""


def lacking(row: CompilerRow) -> str:
    """Why a compiler does not run here; empty where it does."""
    try:
        program_of(row)
        headers_of(row)
    except FirmwareError as error:
        return str(error)
    return ""


def check(
    *arguments: str, env: dict[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The program in another process."""
    words = ["-m", "firmware_check", *arguments]
    done = python(words, folder or paths.ROOT, settings={"PYTHONPATH": str(paths.ROOT), **(env or {})}, patience=600)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def data(*arguments: str, code: int = 0) -> dict:
    """What it reports as JSON."""
    done = check(*arguments, "--json", "-")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def running(word: str) -> list[str]:
    """Command lines of processes that name something, where the system lists them."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may end between listing and reading
            commands.append(path.read_bytes().decode(errors="replace"))
    return [line for line in commands if word in line]


def broken_library(folder: Path, body: str) -> Path:
    """A copy of the library whose arm_convolve_s8 begins with other code."""
    spec = find_spec("bakenn")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]) / "backend" / "cmsis_nn" / "vendor" / "cmsis_nn"
    library = folder / "library"
    shutil.copytree(source, library)
    path = library / "Source" / "ConvolutionFunctions" / "arm_convolve_s8.c"
    text = path.read_text(encoding="utf-8")
    position = text.index("{", text.index("arm_cmsis_nn_status arm_convolve_s8(")) + 1
    path.write_text(text[:position] + body + text[position:], encoding="utf-8")
    return library
