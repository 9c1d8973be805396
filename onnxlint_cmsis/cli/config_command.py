"""The command `config`: the resolved settings, each with where it comes from."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.ground.errors import UsageError, did_you_mean
from onnxlint_cmsis.output.plain import printable, toml_string

if TYPE_CHECKING:
    from onnxlint_cmsis.config.keys import Key
    from onnxlint_cmsis.config.settings import Settings


# The resolved settings as lines of TOML, each with where it comes from.


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


# `onnxlint-cmsis config [KEY]`: the settings that exist.


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("config", "List the settings, or explain one: what it does, its default and its option.")
    parser.add_argument("key", nargs="?", metavar="KEY", help="name of a setting")
    return parser


def run(argv: list[str]) -> int:
    """Print the names of all settings, or all that is known of one."""
    args = make_parser().parse_args(argv)
    if args.key is None:
        sys.stdout.write("".join(f"{key.name}\n" for key in KEYS))
        return 0
    key = next((key for key in KEYS if key.name == args.key), None)
    if key is None:
        raise UsageError(f"setting {args.key!r} is not known{did_you_mean(args.key, [key.name for key in KEYS])}")
    sys.stdout.write(_page(key))
    return 0


def _page(key: Key) -> str:
    from onnxlint_cmsis.cli.options import columns
    from onnxlint_cmsis.config.settings import SETTING_KINDS
    from onnxlint_cmsis.output.plain import wrapped

    lines = [wrapped(key.doc, columns(), 0), "", f"Type: {SETTING_KINDS[key.kind].words}"]
    lines += [f"Allowed: {', '.join(key.allowed)}"] if key.allowed else []
    lines += [f"Default: {toml(key.default)}", f"Option: {key.option or 'none'}"]
    return "".join(f"{line}\n" for line in lines)
