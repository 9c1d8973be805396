"""Options and helpers that all commands share: the table's options, files of a run, progress, JSON lines, terminal."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from onnxlint_cmsis.cli.command_table import command_help
from onnxlint_cmsis.cmsis_nn.releases import COMPILERS, DEFAULT_RELEASE, parse_target
from onnxlint_cmsis.config.files import COMMAND_LINE, Configuration, SettingsLayer
from onnxlint_cmsis.config.keys import EVERY_TARGET, ROUTE_TARGET
from onnxlint_cmsis.config.settings import KEYS, SETTING_KINDS, SEVERAL, Written
from onnxlint_cmsis.formats.format import SUFFIXES, is_model, is_skipped
from onnxlint_cmsis.ground.errors import UsageError, did_you_mean
from onnxlint_cmsis.ground.files import MODEL, TEXT, NotReadError, read_stream
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.version import __version__
from onnxlint_cmsis.output.plain import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from onnxlint_cmsis.config.keys import Key
    from onnxlint_cmsis.ground.types import Target


# Command-line options that come from the table of configuration keys, and what all commands share.


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
        text = "tell more of each file: how it was read, sums of each target, its configuration, internal errors"
        self.add_argument("-v", "--verbose", action="store_true", help=text)

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
        parsed, left = self.parse_known_args(args, namespace)
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


def add_keys(parser: argparse.ArgumentParser, names: Collection[str] = (), without: Collection[str] = ()) -> None:
    """Add the options of the named keys, of all keys but those `without` where none is named; and those of the file."""
    names = names or {key.name for key in KEYS} - {*without}
    group = parser.add_argument_group("settings, as in the configuration file")
    for key in KEYS:
        if key.option and _written(key) is Written.FLAG and key.name in names:
            off = key.option.startswith("--no-")
            text = f"Do not {key.doc[0].lower()}{key.doc[1:]}" if off else key.doc
            group.add_argument(key.option, dest=key.attribute, action="store_const", const=not off, help=text)
        elif key.option and key.name in names:
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
    return SETTING_KINDS[key.kind].written


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


# From the paths of the command line to the files to lint.


STDIN = "-"


def standard_input() -> bytes:
    """All of standard input. Raises UsageError for more than a model may have."""
    try:
        return read_stream(sys.stdin.buffer, MODEL, "standard input")
    except NotReadError as error:
        raise UsageError(f"standard input {error.strerror}") from None


class Found(NamedTuple):
    """The files of a run."""

    files: tuple[str, ...]
    """Each file once, in the order of the paths, a folder's files sorted."""
    empty: tuple[str, ...]
    """Folders in which there is no file to lint."""
    unreadable: tuple[str, ...] = ()
    """Folders that cannot be listed, each with the reason."""


def discover(
    paths: Iterable[str],
    excluded: Callable[[str], bool],
    *,
    force_exclude: bool = False,
    ignored: Callable[[str, list[str]], frozenset[str]] = lambda _folder, _files: frozenset(),
) -> Found:
    """Find the files to lint.

    `ignored` tells which files of a folder are not to be found by a search, as version control wants it.
    `excluded` tells whether the configuration leaves a file or folder out. A file that is named itself is linted all
    the same, unless `force_exclude` is set. A path that does not exist counts as a file, so that it is reported, and so
    does a folder that is named like a model and holds none.
    """
    files: dict[str, None] = {}
    empty: list[str] = []
    unreadable: list[str] = []

    def cannot_list(error: OSError) -> None:
        unreadable.append(f"{error.filename}: the folder cannot be listed: {error.strerror or error}")

    for path in paths:
        if path != STDIN and _is_folder(path):
            before = len(unreadable)
            every = sorted(_search(path, excluded, cannot_list))
            left_out = ignored(path, every)
            listed = [file for file in every if file not in left_out] or _mistaken(path)
            files.update(dict.fromkeys(listed))
            if not listed and len(unreadable) == before:
                empty.append(path)
        elif path == STDIN or not (force_exclude and excluded(path)):
            files[path if path == STDIN else os.path.normpath(path)] = None
    return Found(tuple(files), tuple(empty), tuple(unreadable))


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a name that is too long, a folder above that may not be entered
        return False


def _mistaken(folder: str) -> list[str]:
    """The folder itself where it has the name of a model, none elsewhere."""
    name = os.path.normpath(folder)
    return [name] if is_model(name) else []


def _search(folder: str, excluded: Callable[[str], bool], cannot_list: Callable[[OSError], None]) -> Iterator[str]:
    """Every model file below a folder; links to folders are not followed."""
    for root, folders, files in os.walk(os.path.normpath(folder), onerror=cannot_list):
        here = Path(root)
        folders[:] = [name for name in folders if not is_skipped(name) and not excluded(str(here / name))]
        for name in files:
            path = str(here / name)
            if is_model(name) and not excluded(path):
                yield path


# Commands that answer JSON lines: one object for each line, an error with the line's number where there is none.


if TYPE_CHECKING:
    Answer = Callable[[Mapping[str, object], Target], dict[str, object]]


def add_lines(parser: argparse.ArgumentParser) -> None:
    """Add the file of JSON lines and the target of the lines that name none."""
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", default=STDIN, help="JSON lines; standard input where none is given")
    add("--target", default=ROUTE_TARGET, metavar="CPU", help=f"where a record names none. Default: {ROUTE_TARGET}.")
    add("--release", default=DEFAULT_RELEASE, help=f"where a record names none. Default: {DEFAULT_RELEASE}.")
    add(
        "--compiler",
        default=COMPILERS[0],
        metavar="NAME[@VERSION]",
        help=f"{' or '.join(COMPILERS)}. Default: {COMPILERS[0]}.",
    )


def target_of(args: argparse.Namespace) -> Target:
    """The target of the options; UsageError where there is none."""
    try:
        return parse_target(args.target, args.release, args.compiler)
    except ValueError as error:
        raise UsageError(str(error)) from None


def answer_file(args: argparse.Namespace, answer: Answer) -> int:
    """Answer every line of the file or of standard input; 2 where one could not be answered, else 0."""
    target = target_of(args)
    if args.file == STDIN:
        return _answer_lines(sys.stdin.buffer, target, answer)
    with Path(args.file).open("rb") as file:
        return _answer_lines(file, target, answer)


def _answer_lines(lines: BinaryIO, target: Target, answer: Answer) -> int:
    code = 0
    for number, line in enumerate(iter(lambda: lines.readline(TEXT), b""), 1):
        if not line.strip():
            continue
        if len(line) == TEXT:
            raise UsageError(f"line {number} has {TEXT} bytes or more; a record is one line")
        try:
            result = answer(_record(line), target)
        except Exception as error:
            says = str(error) if isinstance(error, ValueError) else f"internal error: {type(error).__name__}: {error}"
            result, code = {"line": number, "error": says}, 2
        sys.stdout.write(json_text(result, None))
    return code


def _record(line: bytes) -> dict[str, object]:
    """The JSON object in a line; UsageError where there is none."""
    try:
        record = json.loads(line)
    except RecursionError:
        raise UsageError("the JSON is nested too deep") from None
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise UsageError("not a JSON object")
    return record


# Whether the text is coloured, and how wide it may be.


def say(text: str) -> None:
    """Print one line to standard error."""
    print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


def beside_names(texts: Sequence[tuple[str, str]]) -> str:
    """The texts about files, each below its file's name; the text alone where there is one."""
    if len(texts) == 1:
        return texts[0][1]
    return "\n".join(f"{printable(file)}\n{text}" for file, text in texts)


def wants_color(choice: str, stream: TextIO) -> bool:
    """True for `always`, or for `auto` on a terminal; NO_COLOR and FORCE_COLOR decide `auto`, NO_COLOR first."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def add_color(parser: argparse.ArgumentParser) -> None:
    """Add the option that `wants_color` takes."""
    choices = ("auto", "always", "never")
    parser.add_argument("--color", choices=choices, default="auto", help="colour the text. Default: auto.")


def columns() -> int:
    """Columns of the terminal: the variable COLUMNS, else the width of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


# Options of `onnxlint-cmsis [lint] PATHS`.


DESCRIPTION = "Tell what CMSIS-NN will do with a model on a Cortex-M: kernels, errors, wrong results, missed speed."
EPILOG = """Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage error, unreadable file or internal error.
With --fix the findings are those that remain; with --diff 1 means that a file would change.
Commands:
{commands}
`onnxlint-cmsis COMMAND --help` explains each; ./layers is a folder or file of a command's name."""
STDIN_NAME = "<stdin>"


def make_parser() -> CommandParser:
    """The options of the command."""
    usage, epilog = "%(prog)s [lint] [options] PATHS", EPILOG.format(commands=command_help())
    parser = CommandParser("", DESCRIPTION, epilog=epilog, usage=usage)
    add = parser.add_argument
    sought = " and ".join(SUFFIXES)
    text = f"model files, folders to search for {sought} files, - for standard input. Default: this folder."
    add("paths", nargs="*", metavar="PATHS", help=text)
    add("--version", action="version", version=f"{PROGRAM} {__version__}")
    add("--stdin-filename", metavar="NAME", default=STDIN_NAME, help="what to call standard input")
    add("--force-exclude", action="store_true", help="leave excluded files out even where they are named")
    add("--jobs", type=_jobs, default=1, metavar="N", help="processes to lint and fix several files with. Default: 1.")
    add("--exit-zero", action="store_true", help="exit with 0 even when there are findings")
    add("--fix", action="store_true", help="rewrite files so that they cost less and compute the same, after proof")
    add("--no-fix", action="store_true", help="fix nothing, whatever --fix or --fix-only says")
    add("--diff", action="store_true", help="show what --fix would do and touch nothing; exit with 1 if it would")
    add("--fix-only", action="store_true", help="fix, and report no findings; exit with 0 unless something failed")
    add("--exit-non-zero-on-fix", action="store_true", help="exit with 1 where a file was fixed")
    add("--output-file", metavar="FILE", default="", help="write the report there instead of standard output")
    add("--write-baseline", metavar="FILE", default="", help="accept all present findings: write them as a baseline")
    add("--statistics", action="store_true", help="add the number of findings per rule and per level")
    add("--sarif-category", metavar="NAME", default="", help="category of the run in SARIF, where several are uploaded")
    add("--show-settings", action="store_true", help="print the settings of the first file and where they come from")
    add("--show-files", action="store_true", help="print the files that would be linted")
    add_color(parser)
    add("--full-names", action="store_true", help="show names as they stand in the file, not their short forms")
    add("--explain", action="store_true", help="tell kernel, source, reason and evidence of each finding")
    add("-q", "--quiet", action="store_true", help="print findings only: no summary, no notes about files")
    add_keys(parser)
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
