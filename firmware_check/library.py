"""A CMSIS-NN source folder: release, files, functions, and the files that a set of functions needs."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.cmsis_nn.releases import RELEASES

CARRIED = "bakenn"
"""Origin of the library where no folder is given: the PyPI package that carries it."""
_HEADER = Path("Include") / "arm_nnfunctions.h"

_MARKS = (
    ("main", "arm_nn_types.h", r"\bhidden_state\b"),
    ("7.0.0", "arm_nnfunctions.h", r"\bupscale_dims\b"),
    ("6.0.0", "arm_nn_types.h", r"\bcmsis_nn_bias_data\b"),
    ("5.0.0", "arm_nnfunctions.h", r"\barm_convolve_wrapper_s4\b"),
    ("4.1.0", "arm_nnfunctions.h", r"\barm_convolve_wrapper_s8_get_buffer_size_mve\b"),
    ("4.0.0", "arm_nnfunctions.h", r"\barm_cmsis_nn_status\s+arm_convolve_wrapper_s8\b"),
)
"""Newest first: release, header, and what that header has from this release on."""

_MEASURED = {
    "4.0.0": "8ac98c079224b608",
    "4.1.0": "5bc80f5238769000",
    "5.0.0": "9379b48cbcfcc3ac",
    "6.0.0": "344c5c332c4d1a30",
    "7.0.0": "d2adf481dafa1504",
    "main": "fa7321bc6777312a",
}
"""Release to the digest of the sources whose instructions were measured; main is commit 99f736a6."""
_DEFINITION = re.compile(
    r"^(?!static\b|__STATIC)(?:[A-Za-z_][\w \t\*]*?\b\n?|(?:arm_status|void)\s+)(arm_\w+)\s*\([^;{}]*\)\s*\{",
    re.MULTILINE,
)
_STATUS = re.compile(r"\barm_(?:cmsis_nn_)?status\s+(arm_\w+)\s*\(")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TABLE = re.compile(r"^const\s+\w+\s+(\w+[tT]able_\w+|arm_\w+_f(?:32|16))\s*\[", re.MULTILINE)
_BY_MACRO = re.compile(r"^ARM_(TRANSPOSE|CONCATENATION)_DEFINE\(\s*(\w+)", re.MULTILINE)
_INTERNAL = re.compile(r'^\s*#\s*include\s+"Internal/(\w+\.h)"', re.MULTILINE)
_INLINE = re.compile(
    r"^[ \t]*__STATIC_(?:FORCE)?INLINE\b[\w \t\*\n]*?\b(arm_\w+)\s*\([^;{}]*\)\s*\{(.*?)^\}", re.MULTILINE | re.DOTALL
)
_WORD = re.compile(r"\b(?:arm_|\w+[tT]able_)\w+")


@dataclass(frozen=True, eq=False)
class Library:
    """One copy of CMSIS-NN."""

    root: Path
    """Folder with Include and Source."""
    release: str
    """Release its headers are of, as onnxlint_cmsis names it."""
    includes: tuple[Path, ...]
    """Folders for the compiler's -I."""
    origin: str
    """Where it comes from, for the report."""

    @property
    def label(self) -> str:
        """Release and origin: `CMSIS-NN 4.0.0, the part of it in the PyPI package bakenn`."""
        origin = "the part of it in the PyPI package bakenn" if self.origin == CARRIED else self.origin
        return f"CMSIS-NN {self.release}, {origin}"

    @cached_property
    def digest(self) -> str:
        """First digits of the SHA-256 of all sources and headers with their names, whatever ends their lines."""
        files = [*(self.root / "Include").rglob("*.h"), *(self.root / "Source").rglob("*.[ch]")]
        known = hashlib.sha256()
        for name, path in sorted((path.relative_to(self.root).as_posix(), path) for path in files):
            known.update(name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
        return known.hexdigest()[:16]

    @property
    def as_measured(self) -> bool:
        """Tell if these are the sources whose instructions were measured, and not another commit's or a changed copy.

        bakenn says of each file how it differs from 4.0.0: gcc makes the same code of it.
        """
        return self.origin == CARRIED or self.digest == _MEASURED.get(self.release)

    @cached_property
    def texts(self) -> dict[Path, str]:
        """Every source file without its comments."""
        files = sorted((self.root / "Source").rglob("*.c"))
        return {path: _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace")) for path in files}

    @cached_property
    def definitions(self) -> dict[str, Path]:
        """Public function, or table of constants, to the file that defines it."""
        rows = (_DEFINITION, _TABLE)
        defined = {name: path for path, text in self.texts.items() for row in rows for name in row.findall(text)}
        by_macro = {name: path for path, text in self.texts.items() for name in _of_macros(text)}
        return {**defined, **by_macro}

    @cached_property
    def tables(self) -> frozenset[str]:
        """Tables of constants."""
        return frozenset(name for text in self.texts.values() for name in _TABLE.findall(text))

    @cached_property
    def inlines(self) -> dict[str, str]:
        """Inline function of a header to its body; of several builds' all bodies."""
        bodies: dict[str, str] = {}
        for path in sorted((self.root / "Include").rglob("*.h")):
            text = _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
            for name, body in _INLINE.findall(text):
                bodies[name] = f"{bodies.get(name, '')}\n{body}"
        return bodies

    @cached_property
    def returning_status(self) -> frozenset[str]:
        """Functions whose result is a status."""
        return frozenset(name for text in self.texts.values() for name in _STATUS.findall(text))

    def since(self, release: str) -> bool:
        """Tell whether the release is this one or a later one."""
        return RELEASES.index(self.release) >= RELEASES.index(release)

    def has(self, function: str) -> bool:
        """Tell whether this copy defines the function."""
        return function in self.definitions

    def files_for(self, functions: set[str]) -> list[Path]:
        """The files that define the functions and all that those mention, also in inline functions of headers."""
        files: set[Path] = set()
        seen: set[str] = set()
        open_ = set(functions)
        while open_:
            name = open_.pop()
            seen.add(name)
            path = self.definitions.get(name)
            texts = [] if path is None or path in files else [self.texts[path], *self._internal(path)]
            files |= set() if path is None else {path}
            texts += [self.inlines[name]] if name in self.inlines else []
            open_ |= {word for text in texts for word in _WORD.findall(text)} - seen
        return sorted(files)

    def _internal(self, path: Path) -> list[str]:
        """Headers of the library's own that a source file includes: static functions and lists of them."""
        folder = self.root / "Include" / "Internal"
        headers = [folder / name for name in _INTERNAL.findall(path.read_text(encoding="utf-8", errors="replace"))]
        return [_COMMENT.sub(" ", header.read_text("utf-8", "replace")) for header in headers if header.is_file()]

    def public_in(self, files: list[Path]) -> list[str]:
        """Public functions defined in the files."""
        wanted = set(files)
        return sorted(name for name, path in self.definitions.items() if path in wanted and name not in self.tables)


def _of_macros(text: str) -> list[str]:
    """Functions that a source file defines by a macro of another file."""
    names = []
    for kind, argument in _BY_MACRO.findall(text):
        names += [argument] if kind == "TRANSPOSE" else [f"arm_concatenation_{argument}_{axis}" for axis in "xyzw"]
    return names


def open_library(folder: str) -> Library:
    """The library in a folder, or the one that the bakenn wheel carries where no folder is given.

    Raises:
        FirmwareError: there is no CMSIS-NN there, or one older than 4.0.0.

    """
    if not folder:
        vendor = _vendor()
        if vendor is None:
            raise FirmwareError(
                "no CMSIS-NN: give --cmsis-nn DIR, or install the copy of 4.0.0 in bakenn: pip install '.[firmware]'"
            )
        carried = vendor / "cmsis_nn"
        return Library(carried, recognise(carried), (carried / "Include", vendor / "cmsis_core" / "Include"), CARRIED)
    root = Path(folder)
    if not (root / _HEADER).is_file() or not (root / "Source").is_dir():
        raise FirmwareError(f"{folder}: no CMSIS-NN there; a folder with {_HEADER} and Source is expected")
    includes = [root / "Include"]
    release = recognise(root)
    if release == "4.0.0":
        includes.append(_core(root))
    return Library(root, release, tuple(includes), str(folder))


def recognise(root: Path) -> str:
    """Release of the headers in a folder; FirmwareError where they are older than 4.0.0."""
    for release, header, mark in _MARKS:
        path = root / "Include" / header
        if path.is_file() and re.search(mark, path.read_text(encoding="utf-8", errors="replace")):
            return release
    raise FirmwareError(f"{root}: {_HEADER} is of no CMSIS-NN from 4.0.0 on, the first release this check can call")


def _vendor() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("bakenn")
    places = list(spec.submodule_search_locations or ()) if spec else []
    vendor = Path(places[0]) / "backend" / "cmsis_nn" / "vendor" if places else None
    return vendor if vendor and (vendor / "cmsis_nn" / _HEADER).is_file() else None


def _core(root: Path) -> Path:
    """CMSIS-Core's headers, which 4.0.0 includes and later releases do not."""
    for folder in (root / "Include", root.parent / "Core" / "Include", root.parent / "CMSIS" / "Core" / "Include"):
        if (folder / "cmsis_compiler.h").is_file():
            return folder
    vendor = _vendor()
    if vendor:
        return vendor / "cmsis_core" / "Include"
    raise FirmwareError(f"{root}: 4.0.0 needs CMSIS-Core's cmsis_compiler.h beside it, or: pip install '.[firmware]'")
