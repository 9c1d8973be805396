"""Options and helpers that all commands share: the table's options, files of a run, progress, terminal."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from onnxlint_cmsis.cli import command_help
from onnxlint_cmsis.cli.discovery import STDIN_NAME
from onnxlint_cmsis.config.files import COMMAND_LINE, Configuration, SettingsLayer, configured_by
from onnxlint_cmsis.config.keys import EVERY_TARGET, GROUPS
from onnxlint_cmsis.config.kinds import SETTING_KINDS, SEVERAL, Written
from onnxlint_cmsis.config.settings import KEYS
from onnxlint_cmsis.formats.format import SUFFIXES
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.words import did_you_mean
from onnxlint_cmsis.output.plain import printable

if TYPE_CHECKING:
    from collections.abc import Collection

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.keys import Key
    from onnxlint_cmsis.config.settings import Settings


# Command-line options that come from the table of configuration keys, and what all commands share.


PROGRAM = "onnxlint-cmsis"
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
        """Whether a separate word follows an option; None where this parser has no such option."""
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


# Whether the text is coloured, and how wide it may be.


def say(text: str) -> None:
    """Print one line to standard error."""
    print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


def analysed(path: str, settings: Settings, data: bytes | None = None, *, name: str = "") -> ModelAnalysis:
    """The analysis of a file, or of `data` under a name. Raises UsageError."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.model.model_error import ModelError

    try:
        return ModelAnalysis(name or path, settings.analysis, data)
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None


def verdict_head(
    model: ModelAnalysis, settings: Settings, data: bytes | None = None, *, full_names: bool, color: bool = False
) -> str:
    """The verdicts on a model, or on `data`, as `lint` prints them: a line for each, and an empty line."""
    from onnxlint_cmsis.cli.engine import lint_file
    from onnxlint_cmsis.output.concise import verdict_lines
    from onnxlint_cmsis.output.run import Run

    run = Run((), (), 0, "", color=color, width=columns(), full_names=full_names)
    lines = verdict_lines(lint_file(model.path, settings, data, model), run)
    return "".join(f"{line}\n" for line in (*lines, ""))


def wants_color(choice: str, stream: TextIO) -> bool:
    """True for `always`, or for `auto` on a terminal; NO_COLOR and FORCE_COLOR decide `auto`, NO_COLOR first."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def add_form(parser: CommandParser, *more: str) -> None:
    """Add the option for the form of the output, as `form`: text, JSON, and what else there is."""
    forms = ("text", "json", *more)
    text = f"Form of the output: {', '.join(forms[:-1])} or {forms[-1]}. Default: text."
    add = parser.output.add_argument
    add("--output-format", dest="form", choices=forms, metavar="NAME", default="text", help=text)


def add_full_names(parser: CommandParser) -> None:
    """Add the option for whole names."""
    text = "Show names as they stand in the file."
    parser.output.add_argument("--full-names", action="store_true", help=text)


def add_color(parser: CommandParser) -> None:
    """Add the option that `wants_color` takes."""
    text = "Colour: auto, always or never. Default: auto."
    add = parser.output.add_argument
    add("--color", choices=("auto", "always", "never"), metavar="WHEN", default="auto", help=text)


def columns() -> int:
    """Columns of the terminal: the variable COLUMNS, else the width of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


# Options of `onnxlint-cmsis [lint] PATHS`.


DESCRIPTION = "Tell what CMSIS-NN will do with a model on a Cortex-M."
EPILOG = """CODES and CPU may be several with commas; they, GLOB and options with = repeat.
Exit codes: 0 clean, 1 findings at or above --fail-on, 2 could not do it.
Commands:
{commands}
COMMAND --help explains a command, `config` lists the settings."""


def make_parser() -> CommandParser:
    """The options of the command."""
    usage, epilog = "%(prog)s [lint] [options] PATHS", EPILOG.format(commands=command_help())
    parser = CommandParser("", DESCRIPTION, epilog=epilog, usage=usage)
    text = f"Models ({', '.join(SUFFIXES)}), folders of them, - for standard input. Default: this folder."
    parser.judged.add_argument("paths", nargs="*", metavar="PATHS", help=text)
    add = parser.fixing.add_argument
    add("--fix", action="store_true", help="Rewrite files, proven to compute the same.")
    add("--diff", action="store_true", help="Show what --fix would do; exit with 1 if it would.")
    add("--fix-only", action="store_true", help="Fix, and report no findings.")
    add("--certificate", metavar="FILE", default="", help="Write why fixed files are equal for every input.")
    add("--exit-non-zero-on-fix", action="store_true", help="Exit with 1 where a file was fixed.")
    add_keys(parser)
    add = parser.judged.add_argument
    add("--stdin-filename", metavar="NAME", default=STDIN_NAME, help="What to call standard input.")
    add("--force-exclude", action="store_true", help="Leave excluded files out even where they are named.")
    add("--show-files", action="store_true", help="Print the files that would be linted.")
    add("--show-settings", action="store_true", help="Print the settings, each with its origin.")
    add("--jobs", type=_jobs, default=1, metavar="N", help="Processes for several files. Default: 1.")
    add = parser.findings.add_argument
    add("--write-baseline", metavar="FILE", default="", help="Accept all present findings: write them there.")
    add("--exit-zero", action="store_true", help="Exit with 0 even when there are findings.")
    add = parser.output.add_argument
    add("--output-file", metavar="FILE", default="", help="Write the report there.")
    add("--explain", action="store_true", help="Tell kernel, source and evidence of each finding.")
    add_full_names(parser)
    add("--statistics", action="store_true", help="Count the findings of each rule and level.")
    add("--sarif-category", metavar="NAME", default="", help="Category of the run in SARIF.")
    add_color(parser)
    add("-q", "--quiet", action="store_true", help="Print findings only.")
    add("--version", action="version", version=f"{PROGRAM} {__version__}", help="Print the version.")
    return parser


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


# How far a long run is, on a terminal's standard error.


class ProgressLine:
    """A line that says how many of some things are done; nothing where standard error is no terminal."""

    def __init__(self, things: int, noun: str = "files", *, least: int = 2) -> None:
        """`least` is the number of things from which on the line is shown."""
        self._things, self._noun = things, noun
        self._shown = things >= least and sys.stderr.isatty()
        self._done = 0

    def at(self, name: str) -> None:
        """What is being done, or was done last."""
        if self._shown:
            text = f"{self._done:,} of {self._things:,} {self._noun}: {printable(name)}"
            sys.stderr.write(f"\r\033[K{text[: columns() - 1]}")
            sys.stderr.flush()

    def step(self, name: str) -> None:
        """Count one more task as done."""
        self._done += 1
        self.at(name)

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
