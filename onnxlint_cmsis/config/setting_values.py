"""Checked values as Settings has them: patterns, paths and levels in place of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnxlint_cmsis.config.globs import Glob
from onnxlint_cmsis.config.keys import BY_FORMAT
from onnxlint_cmsis.config.settings import Suppression
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.runtime import runtime_of
from onnxlint_cmsis.types import Level


class Place(NamedTuple):
    """Where a value is written."""

    origin: str
    """The file, `command line`, or `default`."""
    root: str
    """Absolute folder that its patterns and paths are relative to."""


def as_it_is(value: Any, _place: Place) -> object:
    """The value as it was checked."""
    return value


def globs(patterns: tuple[str, ...], place: Place) -> tuple[Glob, ...]:
    """Patterns, relative to where they are written."""
    return tuple(Glob(pattern, place.root) for pattern in patterns)


def by_glob(codes: dict[str, tuple[str, ...]], place: Place) -> tuple[tuple[Glob, tuple[str, ...]], ...]:
    """Rules by pattern."""
    return tuple((Glob(pattern, place.root), rules) for pattern, rules in codes.items())


def level(name: str, _place: Place) -> Level:
    """A level by name."""
    return Level[name.upper()]


def least_level(name: str, _place: Place) -> Level | None:
    """The least level that is shown; None where the format decides."""
    return None if name == BY_FORMAT else Level[name.upper()]


def levels(names: dict[str, str], place: Place) -> dict[str, Level]:
    """Levels by rule."""
    return {code: level(name, place) for code, name in names.items()}


def path(text: str, place: Place) -> str:
    """An absolute path; empty where none is given."""
    return str(Path(place.root, text)) if text else ""


def accepted(entries: tuple[dict[str, str], ...], place: Place) -> tuple[Suppression, ...]:
    """Entries of `suppress`, numbered by their origin."""
    made = []
    for number, entry in enumerate(entries):
        path = Glob(entry["path"], place.root) if "path" in entry else None
        rest = {name: text for name, text in entry.items() if name != "path"}
        made.append(Suppression(path=path, origin=f"{place.origin}: suppress[{number}]", **rest))
    return tuple(made)


def made_runtime(text: str, _place: Place) -> object:
    """The runtime itself."""
    return runtime_of(text)
