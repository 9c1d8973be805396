"""The resolved settings as lines of TOML, each with where it comes from."""

from __future__ import annotations

import json

from onnxlint_cmsis.config.settings import KEYS, Settings
from onnxlint_cmsis.output.foreign_text import printable, toml_string


def settings_lines(settings: Settings) -> list[str]:
    """One line for each key."""
    return [f"{key.name} = {toml(settings.raw[key.name])}  # {printable(settings.origins[key.name])}" for key in KEYS]


def toml(value: object) -> str:
    """A value as TOML, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_string(name)} = {toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return toml_string(value) if isinstance(value, str) else json.dumps(value)
