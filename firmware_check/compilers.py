"""The compilers that CMSIS-NN is compiled with: one row each. The harness and the calls are always gcc's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from firmware_check.errors import FirmwareError


class CompilerRow(NamedTuple):
    """One compiler."""

    name: str
    """What `--compiler` calls it, and CMSIS-NN's branch for compilers other than armclang is taken."""
    programs: tuple[str, ...]
    """Programs that are it; the first one on the PATH is taken."""
    package: str
    """Debian's package."""
    flags: tuple[str, ...]
    """Flags of every file of CMSIS-NN with functions for integers."""
    trace: tuple[str, ...]
    """Flags that call a hook at entry and exit of each function, static ones too, but not of inline ones in headers."""
    rescue: tuple[str, ...] = ()
    """Flags to try again with where the compiler ends with an internal error."""
    rescued: str = ""
    """What these flags leave out, for the report."""
    assembly: bool = True
    """Whether it compiles CMSIS-NN's inline assembly; else ARM_MATH_AUTOVECTORIZE takes the C code beside it."""
    float_flags: tuple[str, ...] = ()
    """Flags of every file where functions for f32 and f16 are called."""

    def for_floats(self) -> CompilerRow:
        """The row for functions for f32 and f16, whose inline assembly every compiler takes."""
        return self._replace(flags=self.float_flags, assembly=True)


GCC = CompilerRow(
    "gcc",
    ("arm-none-eabi-gcc",),
    "gcc-arm-none-eabi",
    (),
    ("-finstrument-functions", "-finstrument-functions-exclude-file-list=Include/,arm-none-eabi/,gcc/"),
    ("-fdisable-rtl-combine",),
    "its combine pass (-fdisable-rtl-combine)",
    float_flags=("-mfp16-format=ieee",),
)
# The inline assembly for MVE (7.0.0, arm_nn_mat_mult_nt_t_s8.c:100-128) writes outputs before it has read its inputs
# and does not say so ("=Te" without &): clang gives both one register. ARM_MATH_AUTOVECTORIZE takes the C code instead.
# The calls are gcc's, whose enumerations take as few bytes as they need: parameters hold some.
CLANG = CompilerRow(
    "clang",
    (*(f"clang-{version}" for version in range(22, 13, -1)), "clang"),
    "clang-16",
    ("--target=arm-none-eabi", "-fshort-enums", "-DARM_MATH_AUTOVECTORIZE"),
    ("-finstrument-functions-after-inlining", "-fno-inline"),
    assembly=False,
    float_flags=("--target=arm-none-eabi", "-fshort-enums"),
)
COMPILERS = (GCC, CLANG)
"""Compilers in the order in which they are shown."""

_VERSION = re.compile(r"\b(\d+\.\d+\.\d+)\b")
_HEADER = "string.h"
_PATIENCE = 30
"""Seconds for a compiler to say what it is."""


def compiler_named(name: str) -> CompilerRow:
    """The row of a compiler; FirmwareError for another name."""
    for row in COMPILERS:
        if row.name == name:
            return row
    raise FirmwareError(f"compiler '{name}' is not known; allowed: {', '.join(row.name for row in COMPILERS)}")


@cache
def program_of(row: CompilerRow) -> str:
    """Path of a compiler; FirmwareError says what to install."""
    path = next(filter(None, map(shutil.which, row.programs)), None)
    if path is None:
        program = row.programs[-1]
        raise FirmwareError(f"{program} is not on the PATH; install it (Debian, Ubuntu: apt-get install {row.package})")
    return path


@cache
def version_of(row: CompilerRow) -> str:
    """First line of what a compiler says of its version; FirmwareError where it says none."""
    said = _said_by([program_of(row), "--version"]).stdout.strip()
    if not said:
        raise FirmwareError(f"{program_of(row)} --version says nothing: a broken compiler?")
    return said.splitlines()[0]


def _said_by(command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a compiler says of itself; FirmwareError where it cannot be started, fails or takes too long."""
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        reason = f"did not end within {_PATIENCE} s"
    except subprocess.CalledProcessError as error:
        said = f": {error.stderr.strip().splitlines()[0]}" if error.stderr.strip() else ""
        reason = f"ends with exit code {error.returncode}{said}"
    except OSError as error:
        reason = f"cannot be started: {error.strerror}"
    raise FirmwareError(f"{' '.join(command)} {reason}; a broken compiler?")


def label_of(row: CompilerRow) -> str:
    """Name and version for reports: `gcc 12.2.1`."""
    versions = _VERSION.findall(version_of(row))
    return f"{row.name} {versions[-1] if row is GCC else versions[0]}" if versions else row.name


@cache
def headers_of(row: CompilerRow) -> tuple[str, ...]:
    """Flags that show a compiler newlib's headers; FirmwareError where they are missing. gcc brings its own."""
    if row is GCC:
        return ()
    for folder in _header_folders():
        if (folder / _HEADER).is_file():
            return ("-isystem", str(folder))
    raise FirmwareError(
        f"{row.name} needs newlib's headers; install them (Debian, Ubuntu: apt-get install libnewlib-arm-none-eabi)"
    )


def _header_folders() -> list[Path]:
    """Folders that gcc looks for headers in, the C library's last."""
    gcc = shutil.which(GCC.programs[0])
    said = _said_by([gcc, "-xc", "-E", "-v", os.devnull]).stderr if gcc else ""
    searched = [Path(line.strip()) for line in said.splitlines() if line.startswith(" /")]
    return [*reversed(searched), Path("/usr/include/newlib"), Path("/usr/lib/arm-none-eabi/include")]
