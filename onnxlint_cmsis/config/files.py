"""Configuration files: finding the nearest, reading its raw values."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from onnxlint_cmsis.bounded_reading import TEXT, read_regular
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.errors import UsageError, did_you_mean
from onnxlint_cmsis.named_tuples import NamedTuple

OWN_FILE = "onnxlint-cmsis.toml"
PROJECT_FILE = "pyproject.toml"
SECTION = "onnxlint-cmsis"


class ConfigError(UsageError):
    """A configuration that cannot be used; the text names the file, the key and what is allowed."""


class SettingsLayer(NamedTuple):
    """Raw values from one place."""

    origin: str
    """The file, or `command line`."""
    root: str
    """Absolute folder that its relative paths start from."""
    values: dict[str, object]
    """Key name to raw value."""


def nearest(folder: Path) -> Path | None:
    """The configuration file that holds for a folder: its own or the nearest above."""
    for place in (folder, *folder.parents):
        own, project = place / OWN_FILE, place / PROJECT_FILE
        if own.is_file():
            return own
        if project.is_file() and _section(project) is not None:
            return project
    return None


def read(path: Path) -> SettingsLayer:
    """The raw values of a configuration file, its keys checked."""
    values = _section(path) if path.name == PROJECT_FILE else _toml(path, _text(path))
    if values is None:
        raise ConfigError(f"{path}: it has no [tool.{SECTION}] section")
    layer = SettingsLayer(str(path), str(absolute(str(path)).parent), values)
    refuse_unknown(layer)
    return layer


def _section(path: Path) -> dict[str, object] | None:
    """The tool's section of a pyproject.toml, None where it has none."""
    text = _text(path)
    if SECTION not in text:  # most projects': spare them the parser
        return None
    tool = _toml(path, text).get("tool", {})
    section = tool.get(SECTION) if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: tool.{SECTION} is not a table")
    return section


def _text(path: Path) -> str:
    try:
        return read_regular(path, TEXT).decode("utf-8-sig")  # editors of Windows begin with a mark
    except OSError as error:
        raise ConfigError(f"{path}: the configuration cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: it is not UTF-8 at byte {error.start}") from error


def _toml(path: Path, text: str) -> dict[str, Any]:
    """The text of a TOML file as a dictionary."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    return values


def refuse_unknown(layer: SettingsLayer) -> None:
    """Raise ConfigError for a key that does not exist."""
    allowed = [key.name for key in KEYS]
    for name in layer.values:
        if name not in allowed:
            raise ConfigError(f"{layer.origin}: unknown key {name!r}{did_you_mean(name, allowed)}")


def absolute(path: str) -> Path:
    """The path from the root, without `..`, symbolic links left as they are."""
    return Path(os.path.normpath(Path(path).absolute()))
