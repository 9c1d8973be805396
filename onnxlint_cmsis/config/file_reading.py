"""Configuration files: the nearest is found, and its raw values are read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onnxlint_cmsis.config.kinds import SETTING_KINDS
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import TEXT, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import did_you_mean

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
    configured: frozenset[str] = frozenset()
    """Keys of the command line that `--config KEY=VALUE` gives, not an option."""
    releases: tuple[str, ...] = ()
    """Releases that firmware can be of; the value of `release` is the newest of them."""

    def origin_of(self, name: str) -> str:
        """Where a key's value is from: the file, `command line`, or `--config`."""
        return CONFIG if name in self.configured else self.origin


def nearest(folder: Path) -> Path | None:
    """The configuration file that holds for a folder: its own or the nearest above."""
    for parent in (folder, *folder.parents):
        own, project = parent / OWN_FILE, parent / PROJECT_FILE
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


def _toml(origin: Path | str, text: str) -> dict[str, Any]:
    """The text of a TOML file as a dictionary; ConfigError names the file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{origin}: not valid TOML: {error}") from error
    return values


def configured_by(texts: Iterable[str]) -> tuple[str, dict[str, object]]:
    """The file that `--config FILE` names, empty for none, and the raw values of `--config KEY=VALUE`.

    A value is TOML; a bare word is a text: `weights-in=tcm`. The last value of a key counts. What is the path of
    a file, or has no `=`, is a file.

    Raises:
        ConfigError: two files, a key that does not exist, or a value that is no TOML.

    """
    file, values = "", dict[str, object]()
    for given in texts:
        if "=" in given and not Path(given).is_file():
            values |= _assignment(given)
        elif file:
            raise ConfigError(f"{CONFIG}: {file} and {given} are two files; name one")
        else:
            file = given
    refuse_unknown(SettingsLayer(CONFIG, "", values))
    return file, values


def _assignment(given: str) -> dict[str, object]:
    """`KEY=VALUE` as a dictionary of one key."""
    name, _, value = (part.strip() for part in given.partition("="))
    try:
        return _toml(CONFIG, given)
    except ConfigError:
        if not value or value[0] in "[{\"'" or not name:
            raise ConfigError(f"{CONFIG}: {given!r} is not KEY=VALUE in TOML{_wanted(name)}") from None
    return _toml(CONFIG, f"{name} = {json.dumps(value, ensure_ascii=False)}")


def _wanted(name: str) -> str:
    """What the key takes, where there is one of the name."""
    key = KEY_BY_NAME.get(name.partition(".")[0])
    return f"; {key.name} is {SETTING_KINDS[key.kind].words}" if key else ""


def refuse_unknown(layer: SettingsLayer) -> None:
    """Raise ConfigError for a key that does not exist."""
    allowed = [key.name for key in KEYS]
    for name in layer.values:
        if name not in allowed:
            raise ConfigError(f"{layer.origin}: unknown key {name!r}{did_you_mean(name, allowed)}")


def absolute(path: str) -> Path:
    """The path from the root, without `..`, symbolic links left as they are."""
    return Path(os.path.normpath(Path(path).absolute()))


CONFIG = "--config"
"""Origin of what `--config KEY=VALUE` gives."""


KEY_BY_NAME = {key.name: key for key in KEYS}
