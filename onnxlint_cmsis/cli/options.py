"""Command-line options that come from the table of settings, and what all commands share."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from onnxlint_cmsis.cli.terminal import PROGRAM, columns
from onnxlint_cmsis.config.file_reading import SettingsLayer, configured_by
from onnxlint_cmsis.config.files import Configuration
from onnxlint_cmsis.config.keys import COMMAND_LINE, EVERY_TARGET, GROUPS, Key
from onnxlint_cmsis.config.kinds import SETTING_KINDS, SEVERAL, Written
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.words import did_you_mean

CHOICES = 40
"""Characters that the values of an option may take in its name."""


class HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of a description, wraps those that are too long, and breaks no option in two."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=columns())

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
            add_help=False,
            formatter_class=HelpFormatter,
            **more,  # type: ignore[arg-type]
        )
        self.groups = {title: self.add_argument_group(title) for title in GROUPS}
        """Groups of options by their titles in --help, which shows those that have any."""
        self.judged, self.placed, self.findings, self.fixing, self.output = self.groups.values()
        add = self.output.add_argument
        add("-h", "--help", action="help", help="Print this help.")
        add("-v", "--verbose", action="store_true", help="Tell how each file was read, its sums, its settings.")

    def takes_value(self, option: str) -> bool | None:
        """Tell whether a separate word follows an option; None where this parser has no such option."""
        action = self._option_string_actions.get(option)
        return None if action is None else action.nargs != 0

    def format_help(self) -> str:
        """Help, whose usage line names what has to be given and no other option."""
        if self.usage is None:
            self.usage = " ".join(["%(prog)s [options]", *filter(None, map(_usage, self._actions))])
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments. Raises UsageError, with the option that a misspelt one may stand for."""
        return self._all_known(*self.parse_known_args(args, namespace))

    def parse_mixed(self, args: list[str], paths: str) -> Any:
        """Parse arguments among which paths stand anywhere; all behind `--` are paths. Raises UsageError."""
        end = args.index("--") if "--" in args else len(args)
        parsed = self._all_known(*self.parse_known_intermixed_args(args[:end]))
        setattr(parsed, paths, [*getattr(parsed, paths), *args[end + 1 :]])
        return parsed

    def _all_known(self, parsed: Any, left: list[str]) -> Any:
        if left:
            word = left[0].partition("=")[0]
            close = did_you_mean(word, self._option_string_actions) if word.startswith("--") else ""
            hint = close if "did you mean" in close else f"; see {self.prog} --help"
            raise UsageError(f"unrecognized arguments: {' '.join(left)}{hint}")
        return parsed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value with a message that also names the one that a misspelt value may stand for."""
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


def add_keys(parser: CommandParser, names: Collection[str] = (), without: Collection[str] = ()) -> None:
    """Add the options of the named keys, of all keys but those `without` where none is named; and those of the file."""
    names = names or {key.name for key in KEYS} - {*without}
    for key in KEYS:
        if key.option and key.name in names:
            add = parser.groups[key.group].add_argument
            if _written(key) is Written.FLAG:
                add(key.option, dest=key.attribute, action="store_const", const=True, help=_help(key))
            else:
                action = "append" if _written(key) in SEVERAL else "store"
                add(key.option, dest=key.attribute, action=action, metavar=_metavar(key), help=_help(key))
    add = parser.judged.add_argument
    text = "Set any setting, --config align=8, or name a file to read instead of the nearest."
    add("--config", metavar="KEY=VALUE", action="append", default=[], help=text)
    add("--isolated", action="store_true", help="Read no configuration file.")


def configuration(args: argparse.Namespace) -> Configuration:
    """The configuration with the options of the command line over it; an option goes before `--config KEY=VALUE`."""
    file, configured = configured_by(args.config)
    if file and args.isolated:
        raise UsageError("--config FILE and --isolated exclude each other")
    given = {key.name: value for key in KEYS if (value := getattr(args, key.attribute, None)) is not None}
    values = configured | {key.name: _raw(key, given[key.name]) for key in KEYS if key.name in given}
    options = SettingsLayer(COMMAND_LINE, str(Path.cwd()), values, frozenset(configured.keys() - given.keys()))
    return Configuration(config=file, isolated=args.isolated, options=options)


def _written(key: Key) -> Written:
    return SETTING_KINDS[key.kind].written


def _metavar(key: Key) -> str:
    """What stands for the value: the allowed ones, or NAME where these are many."""
    choices = "{" + ",".join(key.allowed) + "}"
    return key.metavar or (choices if len(choices) <= CHOICES else "NAME")


def _help(key: Key) -> str:
    """The key's first sentence, the values that neither it nor the metavar names, and the default."""
    text = key.brief
    if not all(value in text + _metavar(key) for value in key.allowed):
        text += f" One of {', '.join(key.allowed)}."
    shown = ",".join(key.default) if isinstance(key.default, list) else key.default
    return (text + (f" Default: {shown}." if shown else "")).replace("%", "%%")


def _raw(key: Key, given: object) -> object:
    """What the option holds, in the form the configuration file has it."""
    if not isinstance(given, list):
        return given
    if _written(key) is Written.LIST:
        return [item.strip() for text in given for item in text.split(",") if item.strip()]
    if _written(key) is Written.PAIRS:
        return dict(_pair(key, text) for text in given)
    if _written(key) is Written.BY_TARGET:
        return _by_target(given)
    return given


def _by_target(given: list[str]) -> object:
    """The last value for all targets, or a table of those for single CPUs."""
    table = {cpu.strip() or EVERY_TARGET: value for cpu, _, value in (text.rpartition("=") for text in given)}
    return table[EVERY_TARGET] if list(table) == [EVERY_TARGET] else table


def _pair(key: Key, text: str) -> tuple[str, object]:
    """`NAME=VALUE` in two; sizes become numbers."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"{key.option}: {text!r} is not {key.metavar}")
    return name, [int(size) if size.strip().isdecimal() else size.strip() for size in value.split(",")]
