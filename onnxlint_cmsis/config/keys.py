"""The table that makes settings: keys, sizes of memory, frequencies, patterns of files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

# A number with a unit behind it, as people write sizes of memory and clocks.


SHAPE = r"(\d+(?:\.\d+)?) ?([A-Za-z]*)"


def read_quantity(
    text: object, units: Mapping[str, int], words: str, meant: Callable[[str, str], Iterable[str]]
) -> int:
    """The whole number that a text stands for, or a whole number as it is.

    `units` has the factor of each unit; `words` say what is allowed; `meant` gives what a number with a unit that is
    not known may have been meant as.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    quantity = re.fullmatch(SHAPE, text.strip()) if isinstance(text, str) else None
    if quantity is None:
        raise ValueError(f"{text!r} is not {words}")
    number, unit = quantity.groups()
    if unit not in units:
        close = list(meant(number, unit))
        rest = f"did you mean {' or '.join(close)}?" if close else f"units are {', '.join(filter(None, units))}"
        raise ValueError(f"{text!r} has a unit that is not known; {rest}")
    return round(float(number) * units[unit])


# Sizes of memory as people write them: 65536, 256K, 1M, 512KiB, 256kB.


BYTE_UNITS = {"": 1, "K": 1024, "KiB": 1024, "M": 1024**2, "MiB": 1024**2, "kB": 1000, "MB": 1000**2}
"""Bytes of each unit: K and M are 1,024 and 1,024 squared, as in linker scripts; kB and MB are powers of 1,000."""
_MEANT = {"k": ("K", "kB"), "kb": ("K", "kB"), "kib": ("KiB",), "m": ("M", "MB"), "mb": ("M", "MB"), "mib": ("MiB",)}
"""Units in small letters, and what they may have been meant as."""
BYTE_WORDS = "a number of bytes, with K, KiB, M, MiB, kB or MB behind it or not"
MOST_BYTES = 2**32
"""Bytes that a 32-bit CPU can address."""


def byte_size(text: object) -> int:
    """Bytes that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    size = read_quantity(text, BYTE_UNITS, BYTE_WORDS, _meant_bytes)
    if not 0 < size <= MOST_BYTES:
        raise ValueError(f"{text!r} is not between 1 byte and {MOST_BYTES:,} bytes")
    return size


def _meant_bytes(number: str, unit: str) -> list[str]:
    names = _MEANT.get(unit.lower(), ())
    return [f"{number}{name} ({round(float(number) * BYTE_UNITS[name]):,} bytes)" for name in names]


# Clocks as people write them: 120MHz, 80 MHz, 32kHz, 64000000.


HERTZ_UNITS = {"": 1, "Hz": 1, "kHz": 1_000, "MHz": 1_000_000}
"""Hertz of each unit."""
HERTZ_WORDS = "a number with Hz, kHz or MHz behind it or not"
LEAST = 1_000
"""Hertz of the slowest clock; less is a number that lacks its unit."""
MOST_HERTZ = 2_000_000_000
"""Hertz of the fastest clock, above that of any Cortex-M."""


def frequency(text: object) -> int:
    """Hertz that a text or a whole number stands for.

    Raises:
        ValueError: with what was found, and what may have been meant.

    """
    hertz = read_quantity(text, HERTZ_UNITS, HERTZ_WORDS, _meant_hertz)
    if hertz < LEAST and 0 < hertz * HERTZ_UNITS["MHz"] <= MOST_HERTZ and str(text).isdecimal():
        raise ValueError(f"{text!r} is {hertz:,} Hz, less than 1kHz; did you mean {text}MHz?")
    if not LEAST <= hertz <= MOST_HERTZ:
        raise ValueError(f"{text!r} is not between 1kHz and {MOST_HERTZ // HERTZ_UNITS['MHz']}MHz")
    return hertz


def _meant_hertz(number: str, unit: str) -> list[str]:
    names = (name for name in HERTZ_UNITS if unit.lower() in (name.lower(), name.lower().removesuffix("hz")))
    return [f"{number}{name}" for name in names if name][:1]


# Path patterns of the configuration and of --exclude: `*`, `?` and `**`, relative to the folder that holds them.


_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Glob(NamedTuple):
    """One pattern and the folder it is relative to."""

    pattern: str
    """Without a slash it matches any folder or file of that name; with one it starts at `root`."""
    root: str
    """Absolute folder: of the configuration file, or the working directory for the command line."""

    def matches(self, path: str) -> bool:
        """True where the path, the C file of an array, or a folder above it below `root`, matches."""
        path = file_of(path)
        relative = _below(path, self.root)
        pattern = self.pattern.replace(os.sep, "/")  # shells of Windows complete names with backslashes
        if relative is None:
            return "/" not in pattern and _regex(pattern).fullmatch(Path(path).name) is not None
        parts = relative.split("/")
        if "/" in pattern.rstrip("/"):
            parts = ["/".join(parts[: end + 1]) for end in range(len(parts))]
        regex = _regex(pattern.strip("/").removeprefix("./"))
        return any(regex.fullmatch(part) for part in parts)


def matches_any(globs: tuple[Glob, ...], path: str) -> bool:
    """True where one of the patterns matches the path."""
    return any(glob.matches(path) for glob in globs)


def _below(path: str, root: str) -> str | None:
    """The path relative to root with forward slashes, None where it is not below it."""
    try:
        relative = os.path.relpath(path, root)
    except ValueError:  # another drive on Windows
        return None
    posix = Path(relative).as_posix()
    return None if posix == ".." or posix.startswith("../") else posix


def _regex(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression; `*` and `?` stay inside one path component."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(_WILDCARDS.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)


# Parts of the table of settings: keys, and the words that some of them allow.


DEFAULT_TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")
"""One CPU of each instruction set that CMSIS-NN tells apart, so that nothing is missed; every finding names its own."""
ONE_CHANNEL = ("convolution", "depthwise")
LEVELS = ("note", "warning", "error")
POLICIES = ("faster", "route", "align")
BY_FORMAT = "by-format"
"""Word for the lowest level that the output format shows."""
FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "gitlab", "rdjson")
READ_BY_PEOPLE = ("full", "concise", "github")
"""Formats that leave notes out unless the user asks for them; the others hold every finding."""
EVERY_TARGET = "*"
"""Stands for every target in a table of CPUs."""
UNLIMITED = "unlimited"
"""Word for no bound."""
GROUPS = ("what to judge", "on what", "findings", "fixing", "output")
"""Groups of options in --help, in its order."""
JUDGED, TARGETS, FINDINGS, FIXING, OUTPUT = GROUPS


class Key(NamedTuple):
    """One key of the configuration; validation, schema, docs and command line all read it from here.

    Every key can be set by `--config KEY=VALUE`; those that are set often have an option too.
    """

    name: str
    """Name in the file."""
    kind: str
    """Row of `SETTING_KINDS`, which checks and describes the value."""
    default: object
    """Value where nothing is given."""
    doc: str
    """Sentences for the schema and the docs page; --help shows the first one."""
    allowed: tuple[str, ...] = ()
    """The values a `choice` may take."""
    option: str = ""
    """Command-line option, empty where there is none."""
    group: str = ""
    """The group of --help that it stands in, one of GROUPS."""
    metavar: str = ""
    """Its placeholder in --help."""
    extends: bool = False
    """Values from the command line are added to the file's instead of replacing them."""
    forgets: tuple[str, ...] = ()
    """Keys whose values from elsewhere fall away where this one is given."""

    @property
    def attribute(self) -> str:
        """Name in Python."""
        return self.name.replace("-", "_")

    @property
    def brief(self) -> str:
        """The first sentence of the text."""
        return self.doc.partition(". ")[0].removesuffix(".") + "."


METADATA = "key"
"""Where a field of Settings keeps its Key."""


def setting(kind: str, default: object, doc: str, **more: Any) -> Any:
    """A field of Settings; the arguments are those of Key, the key is named after the field."""
    by_hash = False if isinstance(default, dict) else None
    return field(metadata={METADATA: Key("", kind, default, doc, **more)}, hash=by_hash)
