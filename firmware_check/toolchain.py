"""arm-none-eabi-gcc and QEMU: finding them, compiling with a cache, linking, reading sizes and symbols."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from firmware_check.errors import FirmwareError, TooLargeError

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
    """One way to compile: flags and include folders."""

    flags: tuple[str, ...]
    """Flags of every file."""
    includes: tuple[Path, ...]
    """Folders for -I."""

    @cached_property
    def version(self) -> str:
        """First line of the compiler's version."""
        done = subprocess.run([tool("arm-none-eabi-gcc"), "--version"], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]

    @cached_property
    def _headers(self) -> bytes:
        digest = hashlib.sha256()
        for folder in self.includes:
            for path in sorted(folder.rglob("*.h")):
                digest.update(path.read_bytes())
        return digest.digest()

    def compile_all(self, sources: Sources, folder: Path) -> list[Path]:
        """Objects of the sources, each with its own further flags, named after their content in `folder`."""
        tool("arm-none-eabi-gcc")
        _ = self.version, self._headers  # once, before the threads ask
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda item: self._compile(item[0], item[1], folder), sources))

    def _compile(self, source: Path, more: tuple[str, ...], folder: Path) -> Path:
        flags = (*self.flags, *more)
        text = source.read_bytes()
        key = hashlib.sha256(b"\0".join([self.version.encode(), repr(flags).encode(), self._headers, text]))
        target = folder / f"{source.stem}-{key.hexdigest()[:24]}.o"
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_suffix(f".{os.getpid()}.tmp")
            places = [f"-I{folder}" for folder in self.includes]
            run([tool("arm-none-eabi-gcc"), *flags, *places, "-c", str(source), "-o", str(partial)])
            partial.replace(target)
        return target


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
    overflow = next((line for line in lines if "overflowed by" in line or "no room left" in line), "")
    if overflow:
        return TooLargeError(overflow.split(": ", 1)[-1])
    first = next(
        (line for line in lines if "error" in line or "undefined" in line), lines[0] if lines else "no message"
    )
    return FirmwareError(f"{Path(name).name}: {first}")
