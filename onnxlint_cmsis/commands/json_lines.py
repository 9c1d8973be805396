"""Commands that answer JSON lines: one object for each line, an error with the line's number where there is none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.bounded_reading import TEXT
from onnxlint_cmsis.cmsis_nn.releases import COMPILERS, DEFAULT_RELEASE, parse_target
from onnxlint_cmsis.commands.discover import STDIN
from onnxlint_cmsis.config.keys import ROUTE_TARGET
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.reporters.plain import json_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    from onnxlint_cmsis.types import Target

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
        found = json.loads(line)
    except RecursionError:
        raise UsageError("the JSON is nested too deep") from None
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("not a JSON object")
    return found
