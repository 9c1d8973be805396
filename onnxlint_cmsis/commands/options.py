"""Command-line options that come from the table of configuration keys, and what all commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from onnxlint_cmsis.config.files import SettingsLayer
from onnxlint_cmsis.config.keys import EVERY_TARGET
from onnxlint_cmsis.config.kinds import KINDS, SEVERAL, Written
from onnxlint_cmsis.config.resolve import COMMAND_LINE, Configuration
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from onnxlint_cmsis.config.keys import Key

PROGRAM = "onnxlint-cmsis"
CHOICES = 40
"""Characters that the values of an option may take in its name."""


class HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of a description, wraps those that are too long, and breaks no option in two."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = (indent + line for line in text.splitlines())
        return "\n".join("\n".join(self._split_lines(line, width)) if len(line) > width else line for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class CommandParser(argparse.ArgumentParser):
    """A parser that reports what is wrong in one line."""

    def __init__(self, command: str, description: str, **more: str) -> None:
        program = f"{PROGRAM} {command}".rstrip()
        super().__init__(
            prog=program,
            description=description,
            allow_abbrev=False,
            formatter_class=HelpFormatter,
            **more,  # type: ignore[arg-type]
        )
        text = "tell standard error more: the configuration of each file, where an internal error happened"
        self.add_argument("-v", "--verbose", action="store_true", help=text)

    def takes_value(self, option: str) -> bool | None:
        """Whether a separate word follows an option; None where this parser has no such option."""
        action = self._option_string_actions.get(option)
        return None if action is None else action.nargs != 0

    def format_help(self) -> str:
        """As argparse does; the usage line names what has to be given, and no other option."""
        if self.usage is None:
            self.usage = " ".join(["%(prog)s [options]", *filter(None, map(_usage, self._actions))])
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, with the option that a misspelt one may stand for."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            word = left[0].partition("=")[0]
            close = did_you_mean(word, self._option_string_actions) if word.startswith("--") else ""
            hint = close if "did you mean" in close else f"; see {self.prog} --help"
            raise UsageError(f"unrecognized arguments: {' '.join(left)}{hint}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse does, with the value that a misspelt one may stand for."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"{value!r} is not known{did_you_mean(str(value), action.choices)}")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage."""
        raise UsageError(message)


def _usage(action: argparse.Action) -> str:
    """`FILE`, `[FILE]`, `URL ...` or `--out FOLDER`; empty for an option that may be left out."""
    name = str(action.metavar or action.dest)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}" if action.required else ""
    several = f"{name} ..." if action.nargs in ("*", "+") else name
    return f"[{several}]" if action.nargs in ("*", "?") else several


def add_keys(parser: argparse.ArgumentParser, names: tuple[str, ...] = ()) -> None:
    """Add the options of the named keys, of all keys where none is named; and those that choose the file."""
    group = parser.add_argument_group("settings, as in the configuration file")
    for key in KEYS:
        if key.option and _written(key) is Written.FLAG and (not names or key.name in names):
            off = key.option.startswith("--no-")
            text = f"Do not {key.doc[0].lower()}{key.doc[1:]}" if off else key.doc
            group.add_argument(key.option, dest=key.attribute, action="store_const", const=not off, help=text)
        elif key.option and (not names or key.name in names):
            action = "append" if _written(key) in SEVERAL else "store"
            group.add_argument(key.option, dest=key.attribute, action=action, metavar=_metavar(key), help=_help(key))
    group.add_argument("--config", metavar="FILE", default="", help="configuration file, instead of the nearest")
    group.add_argument("--isolated", action="store_true", help="read no configuration file")


def configuration(args: argparse.Namespace) -> Configuration:
    """The configuration with the options of the command line over it."""
    if args.config and args.isolated:
        raise UsageError("--config and --isolated exclude each other")
    given = {key.name: value for key in KEYS if (value := getattr(args, key.attribute, None)) is not None}
    values = {key.name: _raw(key, given[key.name]) for key in KEYS if key.name in given}
    return Configuration(
        config=args.config, isolated=args.isolated, options=SettingsLayer(COMMAND_LINE, str(Path.cwd()), values)
    )


def _written(key: Key) -> Written:
    return KINDS[key.kind].written


def _metavar(key: Key) -> str:
    """What stands for the value: the allowed ones, or NAME where these are many."""
    choices = "{" + ",".join(key.allowed) + "}"
    return key.metavar or (choices if len(choices) <= CHOICES else "NAME")


def _help(key: Key) -> str:
    """The key's sentence, its default, many values and whether the option may be repeated."""
    shown = ",".join(key.default) if isinstance(key.default, list) else key.default
    default = f" Default: {shown}." if shown else ""
    repeated = " May be given several times." if _written(key) in SEVERAL else ""
    values = f" One of {', '.join(key.allowed)}." if _metavar(key) == "NAME" and key.allowed else ""
    return (key.doc + values + default + repeated).replace("%", "%%")


def _raw(key: Key, given: object) -> object:
    """What the option holds, in the form the configuration file has it."""
    if _written(key) is Written.NUMBER and isinstance(given, str):
        return _number(given)
    if not isinstance(given, list):
        return given
    if _written(key) is Written.LIST:
        return [item.strip() for text in given for item in text.split(",") if item.strip()]
    if _written(key) is Written.PAIRS:
        return dict(_pair(key, text) for text in given)
    if _written(key) is Written.BY_TARGET:
        return _by_target(given)
    return given


def _number(text: str) -> object:
    """The number that the text is, or the text where it is none."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _by_target(given: list[str]) -> object:
    """The last value for all targets, or a table of those for single CPUs."""
    table = {cpu.strip() or EVERY_TARGET: value for cpu, _, value in (text.rpartition("=") for text in given)}
    return table[EVERY_TARGET] if list(table) == [EVERY_TARGET] else table


def _pair(key: Key, text: str) -> tuple[str, object]:
    """`NAME=VALUE` in two; sizes become numbers."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"{key.option}: {text!r} is not {key.metavar}")
    if key.kind != "shapes":
        return name, value
    return name, [int(size) if size.strip().isdecimal() else size.strip() for size in value.split(",")]
