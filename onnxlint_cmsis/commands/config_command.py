"""`onnxlint-cmsis config [KEY]`: the settings that exist."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.options import CommandParser
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from onnxlint_cmsis.config.keys import Key


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
    found = next((key for key in KEYS if key.name == args.key), None)
    if found is None:
        raise UsageError(f"setting {args.key!r} is not known{did_you_mean(args.key, [key.name for key in KEYS])}")
    sys.stdout.write(_page(found))
    return 0


def _page(key: Key) -> str:
    from onnxlint_cmsis.commands.show_settings import toml
    from onnxlint_cmsis.commands.terminal import columns
    from onnxlint_cmsis.config.kinds import KINDS
    from onnxlint_cmsis.reporters.wrapping import wrapped

    lines = [wrapped(key.doc, columns(), 0), "", f"Type: {KINDS[key.kind].words}"]
    lines += [f"Allowed: {', '.join(key.allowed)}"] if key.allowed else []
    lines += [f"Default: {toml(key.default)}", f"Option: {key.option or 'none'}"]
    return "".join(f"{line}\n" for line in lines)
