"""The compiler's tools: processes that end with the run, objects in a cache, links, sizes, symbols."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock, get_ident
from typing import NamedTuple, TypeVar

from firmware_check.compilers import CompilerRow, headers_of, program_of, version_of
from firmware_check.errors import CompilerFaultError, FirmwareError, RunEndedError, TooLargeError

_PACKAGES = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
    "arm-none-eabi-nm": "gcc-arm-none-eabi",
    "arm-none-eabi-size": "gcc-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
_ARGUMENT = re.compile(r"""[\s\\'"]""")
"""Characters that end or begin something in a file of arguments."""
_SIZES = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s", re.MULTILINE)
"""The row of arm-none-eabi-size: text, data, bss."""
_SYMBOL = re.compile(r"([0-9a-f]+) (?:([0-9a-f]+) )?(\S) (\S.*)")
"""A row of arm-none-eabi-nm -S."""
_LOOK = 0.2
"""Seconds between two looks for a signal."""
_GRACE = 1.0
"""Seconds for a process to end after it was asked to."""


def tool(name: str) -> str:
    """Path of a tool; FirmwareError says what to install."""
    path = shutil.which(name)
    if path is None:
        package = _PACKAGES[name]
        raise FirmwareError(f"{name} is not on the PATH; install it (Debian, Ubuntu: apt-get install {package})")
    return path


Item = TypeVar("Item")
Result = TypeVar("Result")


class Processes:
    """The children of one run, tools and emulators. Each is in its own process group, and none is left behind."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        self._stopped = False
        self._lock = Lock()

    @contextmanager
    def started(self, command: list[str], folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """A process with pipes for its outputs; at the end it and all that it started are gone.

        Raises:
            FirmwareError: it cannot be started.
            RunEndedError: all processes were stopped, before or while it ran.

        """
        with self._lock:
            if self._stopped:
                raise RunEndedError("the run was ended")
            try:
                process = subprocess.Popen(
                    command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise FirmwareError(f"{command[0]} cannot be started: {error.strerror}") from None
            self._running.append(process)
        try:
            with process:
                try:
                    yield process
                finally:
                    _end(process)
        finally:
            with self._lock:
                self._running.remove(process)
        if self._stopped:
            raise RunEndedError("the run was ended")

    def output(self, command: list[str]) -> str:
        """Standard output of a tool; FirmwareError with its first complaint where it fails."""
        with self.started(command) as process:
            said, complaint = (text.decode("utf-8", "replace") for text in process.communicate())
        if process.returncode != 0:
            raise _complaint(command[0], complaint)
        return said

    def in_threads(self, work: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> list[Result]:
        """What some work makes of each item, so many at a time; an error or a signal stops the processes of all.

        Raises:
            FirmwareError: the first item that failed.

        """
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                # a signal that another thread gets wakes no waiting one: the main thread has to look for itself
                while wait(futures, _LOOK, FIRST_EXCEPTION).not_done and not any(map(_failed, futures)):
                    pass
                if not any(map(_failed, futures)):
                    return [future.result() for future in futures]
            finally:
                for future in futures:
                    future.cancel()
                if any(not future.done() or _failed(future) for future in futures):
                    self.stop()
        errors = [error for future in futures if not future.cancelled() and (error := future.exception())]
        raise next((error for error in errors if not isinstance(error, RunEndedError)), errors[0])

    def stop(self) -> None:
        """End all of them, and start no other."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for end in (partial(_signal, number=signal.SIGTERM), _end):  # all are asked before the first one is waited for
            for process in running:
                end(process)


def _failed(future: Future[Result]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group: asked first, so that a compiler removes its temporary files, then killed."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def cache_folder() -> Path:
    """Folder for compiled objects in $XDG_CACHE_HOME, else ~/.cache; FirmwareError where it cannot be made."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(base) / "onnxlint-cmsis" / "firmware"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise FirmwareError(
            f"no folder for compiled objects: {said}; XDG_CACHE_HOME names another place for them"
        ) from None
    return folder


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


class Symbol(NamedTuple):
    """One symbol of an image."""

    name: str
    """Name in C or assembly."""
    address: int
    """Where it lies; of a function in Thumb code, without the lowest bit."""
    size: int
    """Bytes; 0 where none are stated."""
    kind: str
    """Letter of nm: T and t for public and static functions, W for weak ones."""

    @property
    def is_function(self) -> bool:
        """Tell whether it is a function rather than a mark in the code."""
        return self.kind in ("T", "t", "W") and not self.name.startswith("$")


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
    processes: Processes
    """What runs the compiler."""
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
        return self.processes.in_threads(lambda item: self._compile(item[0], item[1], folder), sources, self.jobs)

    def _compile(self, source: Path, more: tuple[str, ...], folder: Path) -> Path:
        """The object of one source, from the cache where it is there; with other flags after an internal error."""
        rescue = (*more, *self.row.rescue)
        target, spare = self._target(source, more, folder), self._target(source, rescue, folder)
        if _is_whole(target):
            return target
        if not self.row.rescue or not _is_whole(spare):
            try:
                return self._make(source, more, target)
            except CompilerFaultError:
                if not self.row.rescue:
                    raise
                self._make(source, rescue, spare)
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

    def _make(self, source: Path, more: tuple[str, ...], target: Path) -> Path:
        """Compile an object under a passing name; it takes its own when it is whole, its digest beside it."""
        partial = target.with_suffix(f".{os.getpid()}.{get_ident()}.tmp")
        places = [f"-I{folder}" for folder in self.includes]
        flags = (*self.row.flags, *self.flags, *headers_of(self.row), *more)
        program = program_of(self.row)
        try:
            self.processes.output([program, *flags, *places, "-c", str(source), "-o", str(partial)])
            digest = hashlib.sha256(partial.read_bytes()).hexdigest() if partial.is_file() else ""
            if not digest or not partial.stat().st_size:
                raise FirmwareError(f"{program} made no object of {source} and said no error: a broken compiler?")
            partial.replace(target)
            partial.write_text(digest, encoding="ascii")
            partial.replace(_digest_of(target))
        except OSError as error:
            raise FirmwareError(f"{target}: the object cannot be kept: {error.strerror}") from None
        finally:
            partial.unlink(missing_ok=True)
        return target


def _digest_of(target: Path) -> Path:
    """File with the SHA-256 of an object."""
    return target.with_suffix(".sha256")


def _is_whole(target: Path) -> bool:
    """Tell whether an object is there as it was compiled: a full disk or a power cut leaves empty and damaged ones."""
    try:
        return hashlib.sha256(target.read_bytes()).hexdigest() == _digest_of(target).read_text(encoding="ascii")
    except (OSError, ValueError):
        return False


def link(flags: Sequence[str], objects: list[Path], script: Path, target: Path, processes: Processes) -> None:
    """Link an image, its map beside it; FirmwareError names the board's memory where it does not fit."""
    common = [*flags, "-nostartfiles", "--specs=nosys.specs", "-Wl,--gc-sections", f"-T{script}"]
    common += ["-Xlinker", f"-Map={target.with_suffix('.map')}"]
    arguments = target.with_suffix(".rsp")
    words = [*common, *map(str, objects), "-lm", "-o", str(target)]
    # GCC reads a file of arguments as buildargv of libiberty does: a backslash keeps the next character
    arguments.write_text("\n".join(_ARGUMENT.sub(r"\\\g<0>", word) for word in words), encoding="utf-8")
    processes.output([tool("arm-none-eabi-gcc"), f"@{arguments}"])


def sizes(image: Path, processes: Processes) -> SectionSizes:
    """Sizes of an image's sections."""
    said = processes.output([tool("arm-none-eabi-size"), str(image)])
    sizes_line = _SIZES.search(said)
    if sizes_line is None:
        raise FirmwareError(f"arm-none-eabi-size says no sizes of {image.name}: a broken tool?")
    return SectionSizes(*map(int, sizes_line.groups()))


def symbols(image: Path, processes: Processes) -> tuple[Symbol, ...]:
    """The symbols of an image that have an address."""
    said = processes.output([tool("arm-none-eabi-nm"), "-S", str(image)])
    rows = [_SYMBOL.fullmatch(line) for line in said.splitlines()]
    symbol_rows = tuple(Symbol(row[4], int(row[1], 16), int(row[2] or "0", 16), row[3]) for row in rows if row)
    if not symbol_rows:
        raise FirmwareError(f"arm-none-eabi-nm says no symbols of {image.name}: a broken tool?")
    return symbol_rows


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
