"""`onnxlint-cmsis route`: the kernel that CMSIS-NN picks for a shape, for records in JSON lines or a single shape."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.cmsis_nn.releases import COMPILERS, DEFAULT_RELEASE, parse_target
from onnxlint_cmsis.commands.discover import STDIN
from onnxlint_cmsis.commands.options import PROGRAM, Parser
from onnxlint_cmsis.config.keys import ROUTE_TARGET
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.reporters.plain import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from onnxlint_cmsis.types import Target

SHAPES = {"--in": 4, "--filter": 4, "--out": 4, "--stride": 2, "--padding": 2, "--pad-after": 2, "--dilation": 2}
"""Options of a single shape with the number of sizes each takes."""

_HELP = {4: ("N,H,W,C", "NHWC; convolution filters are out_c,h,w,in_c, depthwise 1,h,w,out_c"), 2: ("H,W", "")}


def run(argv: list[str]) -> int:
    """Answer each record, or the one shape of the options."""
    args = _parser().parse_args(argv)
    try:
        target = parse_target(args.target, args.release, args.compiler)
        if args.wrapper:
            return _single(args, target)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.file == STDIN:
        return answer_lines(sys.stdin.buffer, target)
    with Path(args.file).open("rb") as file:
        return answer_lines(file, target)


def answer_lines(lines: Iterable[bytes], target: Target) -> int:
    """Write one JSON object for each line; a line that cannot be answered gives an error with its number."""
    from onnxlint_cmsis.cmsis_nn.route_json import answer

    code = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            result = answer(_record(line), target)
        except Exception as error:
            says = str(error) if isinstance(error, ValueError) else f"internal error: {type(error).__name__}: {error}"
            print(f"{PROGRAM}: error: line {number}: {printable(says)}", file=sys.stderr)
            result, code = {"line": number, "error": says}, 2
        sys.stdout.write(json.dumps(result) + "\n")
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


def _parser() -> Parser:
    parser = Parser(
        "route",
        "Tell which kernel CMSIS-NN picks for a shape, and why: for JSON lines read from a file or standard input, "
        "or for the one shape that --wrapper and the sizes describe.",
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", default=STDIN, help="JSON lines; standard input where none is given")
    add("--target", default=ROUTE_TARGET, metavar="CPU", help=f"where a record names none. Default: {ROUTE_TARGET}.")
    add("--release", default=DEFAULT_RELEASE, help=f"where a record names none. Default: {DEFAULT_RELEASE}.")
    add("--compiler", default=COMPILERS[0], metavar="{" + ",".join(COMPILERS) + "}", help=f"Default: {COMPILERS[0]}.")
    add("--wrapper", default="", metavar="NAME", help="entry point of the single shape: convolve_s8, depthwise_s8 ...")
    for option, count in SHAPES.items():
        metavar, text = _HELP[count]
        add(option, default="", metavar=metavar, help=text)
    add("--ch-mult", type=int, metavar="N", help="depthwise channel multiplier")
    add("--per-channel", action="store_true", help="fully connected weights with a scale per channel")
    return parser


def _single(args: argparse.Namespace, target: Target) -> int:
    from onnxlint_cmsis.cmsis_nn.route_json import answer

    sys.stdout.write(json.dumps(answer(record(args), target), indent=1) + "\n")
    return 0


def record(args: argparse.Namespace) -> dict[str, object]:
    """The options of a single shape as a record of the JSON lines."""
    fields: dict[str, object] = {"wrapper": args.wrapper}
    for option, count in SHAPES.items():
        name = option.removeprefix("--").replace("-", "_")
        text = getattr(args, name)
        if text:
            fields[name] = _sizes(option, text, count)
    if args.ch_mult is not None:
        fields["ch_mult"] = args.ch_mult
    if args.per_channel:
        fields["per_channel"] = True
    return fields


def _sizes(option: str, text: str, count: int) -> list[int]:
    parts = text.split(",")
    if len(parts) != count or not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"{option}: {text!r} is not {count} whole numbers separated by commas")
    return [int(part) for part in parts]
