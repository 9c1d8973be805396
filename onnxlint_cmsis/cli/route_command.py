"""`onnxlint-cmsis route`: the kernel that CMSIS-NN picks for a shape, for records in JSON lines or a single shape."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.cli.options import CommandParser, add_lines, answer_file, target_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.plain import json_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from onnxlint_cmsis.ground.types import Target


SHAPES = {"--in": 4, "--filter": 4, "--out": 4, "--stride": 2, "--padding": 2, "--pad-after": 2, "--dilation": 2}
"""Options of a single shape with the number of sizes each takes."""

_HELP = {4: ("N,H,W,C", "NHWC; convolution filters are out_c,h,w,in_c, depthwise 1,h,w,out_c"), 2: ("H,W", "")}


def run(argv: list[str]) -> int:
    """Answer each record, or the one shape of the options."""
    args = make_parser().parse_args(argv)
    if not args.wrapper:
        return answer_file(args, _answer)
    target = target_of(args)
    try:
        sys.stdout.write(json_text(_answer(record(args), target)))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0


def _answer(asked: Mapping[str, object], target: Target) -> dict[str, object]:
    """The answer to a record, with the codes of the rules that report its hazards."""
    from onnxlint_cmsis.checks.rule_registry import check_of_kind
    from onnxlint_cmsis.cmsis_nn.json_records import route_answer

    answer = route_answer(asked, target)
    if kinds := answer.get("hazards"):
        answer["hazards"] = [check_of_kind(str(kind)).rule.code for kind in cast("list[object]", kinds)]
    return answer


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser(
        "route",
        "Tell which kernel CMSIS-NN picks for a shape, and why: for JSON lines read from a file or standard input, "
        "or for the one shape that --wrapper and the sizes describe.",
    )
    add_lines(parser)
    add = parser.add_argument
    add(
        "--wrapper",
        default="",
        metavar="NAME",
        help="entry point of the single shape: convolve_s8, arm_convolve_wrapper_s8 ...",
    )
    for option, count in SHAPES.items():
        metavar, text = _HELP[count]
        add(option, default="", metavar=metavar, help=text)
    add("--ch-mult", type=int, metavar="N", help="depthwise channel multiplier")
    add("--per-channel", action="store_true", help="fully connected weights with a scale per channel")
    return parser


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
