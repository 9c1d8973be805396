"""The tools beside the compiler, compiling with a cache, linking, reading sizes and symbols."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import get_ident

from firmware_check.compilers import CompilerRow, headers_of, program_of, version_of
from firmware_check.errors import CompilerFaultError, FirmwareError, TooLargeError

_PACKAGES = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
    "arm-none-eabi-nm": "gcc-arm-none-eabi",
    "arm-none-eabi-size": "gcc-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}


def tool(name: str) -> str:
    """Path of a tool; FirmwareError says what to install."""
    path = shutil.which(name)
    if path is None:
        package = _PACKAGES[name]
        raise FirmwareError(f"{name} is not on the PATH; install it (Debian, Ubuntu: apt-get install {package})")
    return path


def cache_folder() -> Path:
    """Where compiled objects are kept: $XDG_CACHE_HOME, else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "onnxlint-cmsis" / "firmware"


Sources = list[tuple[Path, tuple[str, ...]]]
"""Source files, each with its compiler flags."""


@dataclass(frozen=True)
class SectionSizes:
    """Bytes of an image's sections."""

    text: int
    """Code and constants."""
    data: int
    """Initialised variables."""
    bss: int
    """Other variables, the arena among them."""

    @property
    def flash(self) -> int:
        """Bytes the image takes in flash."""
        return self.text + self.data

    @property
    def ram(self) -> int:
        """Bytes it takes in RAM, without stack and scratch."""
        return self.data + self.bss


@dataclass(frozen=True, eq=False)
class Compiler:
    """One way to compile: a compiler, flags and include folders."""

    row: CompilerRow
    """The compiler."""
    flags: tuple[str, ...]
    """Flags of every file."""
    includes: tuple[Path, ...]
    """Folders for -I."""
    jobs: int
    """Files that are compiled at a time."""
    rescued: list[str] = field(default_factory=list)
    """Files that it ended at with an internal error, and that were compiled with other flags."""

    @cached_property
    def _headers(self) -> bytes:
        digest = hashlib.sha256()
        for folder in self.includes:
            for path in sorted(folder.rglob("*.h")):
                digest.update(path.read_bytes())
        return digest.digest()

    def compile_all(self, sources: Sources, folder: Path) -> list[Path]:
        """Objects of the sources, each with its own further flags, named after their content in `folder`."""
        _ = version_of(self.row), headers_of(self.row), self._headers  # once, before the threads ask
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda item: self._compile(item[0], item[1], folder), sources))

    def _compile(self, source: Path, more: tuple[str, ...], folder: Path) -> Path:
        """The object of one source, from the cache where it is there; with other flags after an internal error."""
        rescue = (*more, *self.row.rescue)
        target, spare = self._target(source, more, folder), self._target(source, rescue, folder)
        if not target.is_file() and not (self.row.rescue and spare.is_file()):
            try:
                self._make(source, more, target)
            except CompilerFaultError:
                if not self.row.rescue:
                    raise
                self._make(source, rescue, spare)
        if target.is_file():
            return target
        self.rescued.append(source.name)
        return spare

    def _target(self, source: Path, more: tuple[str, ...], folder: Path) -> Path:
        """Where the object of a source goes: all that it depends on is in its name."""
        said = (
            version_of(self.row).encode(),
            repr((*self.row.flags, *self.flags, *more)).encode(),
            self._headers,
            source.read_bytes(),
        )
        return folder / f"{source.stem}-{hashlib.sha256(bytes(0).join(said)).hexdigest()[:24]}.o"

    def _make(self, source: Path, more: tuple[str, ...], target: Path) -> None:
        partial = target.with_suffix(f".{os.getpid()}.{get_ident()}.tmp")
        places = [f"-I{folder}" for folder in self.includes]
        flags = (*self.row.flags, *self.flags, *headers_of(self.row), *more)
        run([program_of(self.row), *flags, *places, "-c", str(source), "-o", str(partial)])
        partial.replace(target)


def link(board_flags: tuple[str, ...], objects: list[Path], script: Path, target: Path, wrapped: list[str]) -> None:
    """Link an image, its map beside it; FirmwareError names the board's memory where it does not fit."""
    wraps = [f"-Wl,--wrap={name}" for name in wrapped]
    common = [*board_flags, "-nostartfiles", "--specs=nosys.specs", "-Wl,--gc-sections", f"-T{script}", *wraps]
    common.append(f"-Wl,-Map={target.with_suffix('.map')}")
    arguments = target.with_suffix(".rsp")
    arguments.write_text("\n".join([*common, *map(str, objects), "-lm", "-o", str(target)]), encoding="utf-8")
    run([tool("arm-none-eabi-gcc"), f"@{arguments}"])


def sizes(image: Path) -> SectionSizes:
    """Sizes of an image's sections."""
    done = run([tool("arm-none-eabi-size"), str(image)])
    text, data, bss = done.splitlines()[1].split()[:3]
    return SectionSizes(int(text), int(data), int(bss))


def symbols(image: Path) -> dict[int, tuple[str, bool]]:
    """Address of every function to its name and whether it is public."""
    found: dict[int, tuple[str, bool]] = {}
    for line in run([tool("arm-none-eabi-nm"), str(image)]).splitlines():
        address, kind, name = line.split(None, 2) if line[0] != " " else ("", "", "")
        if kind in ("T", "t", "W") and not name.startswith("$"):
            found[int(address, 16) & ~1] = (name, kind != "t")
    return found


def symbol_sizes(image: Path) -> dict[str, int]:
    """Name of every symbol that has a size to that size in bytes."""
    lines = (line.split() for line in run([tool("arm-none-eabi-nm"), "-S", str(image)]).splitlines())
    return {fields[3]: int(fields[1], 16) for fields in lines if len(fields) == 4}


def run(command: list[str]) -> str:
    """Output of a tool; FirmwareError with its first complaint where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _complaint(command[0], done.stderr)
    return done.stdout


def _complaint(name: str, text: str) -> FirmwareError:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("internal compiler error" in line or "PLEASE submit a bug report" in line for line in lines):
        return CompilerFaultError(f"{Path(name).name} ends with an internal error: {lines[0]}")
    overflow = next((line for line in lines if "overflowed by" in line or "no room left" in line), "")
    if overflow:
        return TooLargeError(overflow.split(": ", 1)[-1])
    first = next(
        (line for line in lines if "error" in line or "undefined" in line), lines[0] if lines else "no message"
    )
    return FirmwareError(f"{Path(name).name}: {first}")
