"""Checked values as Settings has them: patterns, paths and levels in place of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnxlint_cmsis.config.keys import BY_FORMAT
from onnxlint_cmsis.config.path_patterns import Glob
from onnxlint_cmsis.config.settings import Suppression
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.runtimes.runtime import runtime_of


class ValueSource(NamedTuple):
    """Where a value is written."""

    origin: str
    """The file, `command line`, or `default`."""
    root: str
    """Absolute folder that its patterns and paths are relative to."""


def as_it_is(value: Any, _source: ValueSource) -> object:
    """The value as it was checked."""
    return value


def globs(patterns: tuple[str, ...], source: ValueSource) -> tuple[Glob, ...]:
    """Patterns, relative to where they are written."""
    return tuple(Glob(pattern, source.root) for pattern in patterns)


def by_glob(codes: dict[str, tuple[str, ...]], source: ValueSource) -> tuple[tuple[Glob, tuple[str, ...]], ...]:
    """Rules by pattern."""
    return tuple((Glob(pattern, source.root), rules) for pattern, rules in codes.items())


def level(name: str, _source: ValueSource) -> Level:
    """A level by name."""
    return Level[name.upper()]


def least_level(name: str, _source: ValueSource) -> Level | None:
    """The least level that is shown; None where the format decides."""
    return None if name == BY_FORMAT else Level[name.upper()]


def levels(names: dict[str, str], source: ValueSource) -> dict[str, Level]:
    """Levels by rule."""
    return {code: level(name, source) for code, name in names.items()}


def path(text: str, source: ValueSource) -> str:
    """An absolute path; empty where none is given."""
    return str(Path(source.root, text)) if text else ""


def accepted(entries: tuple[dict[str, str], ...], source: ValueSource) -> tuple[Suppression, ...]:
    """Entries of `suppress`, numbered by their origin."""
    suppressions = []
    for number, entry in enumerate(entries):
        path = Glob(entry["path"], source.root) if "path" in entry else None
        rest = {name: text for name, text in entry.items() if name != "path"}
        suppressions.append(Suppression(path=path, origin=f"{source.origin}: suppress[{number}]", **rest))
    return tuple(suppressions)


def runtime_named(text: str, _source: ValueSource) -> object:
    """The runtime itself."""
    return runtime_of(text)
