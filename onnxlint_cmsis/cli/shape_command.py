"""`onnxlint-cmsis shape`: what CMSIS-NN does with a layer that is given by its sizes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from onnxlint_cmsis.cli.discovery import STDIN
from onnxlint_cmsis.cli.options import CommandParser
from onnxlint_cmsis.cli.output_options import add_form
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE
from onnxlint_cmsis.cmsis_nn.targets import COMPILERS, parse_target
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import TEXT
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.output.foreign_text import json_text
from onnxlint_cmsis.output.wrapping import wrapped

DESCRIPTION = (
    "Tell what CMSIS-NN does with a layer that is given by its sizes: kernel, known errors and wrong results, scratch, "
    "predicted instructions (not cycles). The layer is described by --wrapper and the sizes, or by lines of JSON with "
    "these fields or those of the cost vectors (kind, h, w, in_c, kh, kw, out_c, out_h, out_w, ...); a line may name "
    "its own target, release and compiler. Exit codes: 0, or 2 where a line could not be answered."
)
DEFAULT_TARGET = "cortex-m55"
"""What is answered for where neither option nor line names a CPU or instruction set: one shape, one answer."""
SHAPES = {"--in": 4, "--filter": 4, "--out": 4, "--stride": 2, "--padding": 2, "--pad-after": 2, "--dilation": 2}
"""Options of a single shape with the number of sizes each takes."""
_HELP = {
    "--in": "Input, NHWC.",
    "--filter": "Weights: out_c,h,w,in_c; depthwise 1,h,w,out_c.",
    "--out": "Output, NHWC.",
    "--stride": "Default: 1,1.",
    "--padding": "Above and on the left. Default: 0,0.",
    "--pad-after": "Padding below and on the right. Default: as the output asks.",
    "--dilation": "Default: 1,1.",
}


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("shape", DESCRIPTION)
    add = parser.judged.add_argument
    add("file", nargs="?", metavar="FILE", default=STDIN, help="Lines of JSON. Default: - for standard input.")
    text = "Entry point of a single shape: convolve_s8, arm_convolve_wrapper_s8 ..."
    add("--wrapper", default="", metavar="NAME", help=text)
    for option, count in SHAPES.items():
        add(
            option,
            default="",
            metavar="N,H,W,C" if count == 4 else "H,W",
            help=_HELP[option],
        )
    add("--ch-mult", type=int, metavar="N", help="Depthwise channel multiplier.")
    add("--per-channel", action="store_true", help="Fully connected weights with a scale per channel.")
    add = parser.placed.add_argument
    add("--target", default=DEFAULT_TARGET, metavar="CPU", help=f"Default: {DEFAULT_TARGET}.")
    add("--release", default=DEFAULT_RELEASE, metavar="RELEASE", help=f"CMSIS-NN release. Default: {DEFAULT_RELEASE}.")
    text = f"{' or '.join(COMPILERS)}. Default: {COMPILERS[0]}."
    add("--compiler", default=COMPILERS[0], metavar="CC[@VERSION]", help=text)
    add_form(parser)
    return parser


def run(argv: list[str]) -> int:
    """Answer the shape of the options, or each line; 2 where one could not be answered, else 0."""
    args = make_parser().parse_args(argv)
    try:
        target = parse_target(args.target, args.release, args.compiler)
        if args.wrapper:
            answer = _answer(_shape(args), target)
            sys.stdout.write(json_text(answer) if args.form == "json" else _text(answer, target))
            return 0
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.file == STDIN:
        return _answer_lines(sys.stdin.buffer, target, args.form)
    with Path(args.file).open("rb") as file:
        return _answer_lines(file, target, args.form)


def _answer(asked: Mapping[str, object], target: Target) -> dict[str, Any]:
    """The answer to a record, with the codes of the rules that report its hazards."""
    from onnxlint_cmsis.checks.rule_registry import check_of_kind
    from onnxlint_cmsis.cmsis_nn.json_records import shape_answer

    answer = shape_answer(asked, target)
    kinds = cast("list[object]", answer["hazards"])
    return answer | {"hazards": [check_of_kind(str(kind)).rule.code for kind in kinds]}


def _text(answer: Mapping[str, Any], default: Target) -> str:
    """The answer as lines for people."""
    from onnxlint_cmsis.cmsis_nn.json_fields import target_of

    scratch = [f"{size:,}" for size in (answer["buffer_size"], answer["buffer_size_2"]) if size > 0]
    cost = answer["instructions"]
    rows = [("kernel", answer["kernel"] or "none")]
    if answer["effective"] not in ("", answer["kernel"]):
        rows.append(("computes", answer["effective"]))
    if answer["status"]:
        rows.append(("status", f"{answer['status']}: {answer.get('reason') or 'the function returns an error'}"))
    rows.append(("hazards", ", ".join(answer["hazards"]) or "none is known"))
    rows.append(("scratch", f"{' and '.join(scratch)} bytes" if scratch else "none"))
    if before := answer.get("before"):
        rows.append(("before", f"{before['call']}: {before['what']}; {before['otherwise']}"))
    if ends := answer.get("instructions_range"):
        cost_text = f"{ends[0]:,} to {ends[1]:,}"
    else:
        cost_text = "" if cost is None else f"{cost:,}"
    rows.append(("cost", f"{cost_text} predicted instructions (not cycles)" if cost_text else "unknown"))
    rows += [
        ("missed", f"{step['kernel']}: {'; '.join(step['failed'])}") for step in answer["why"] if not step["taken"]
    ]
    lines = [f"{answer.get('wrapper') or answer['kind']} on {target_of(answer, default).label}"]
    lines += [wrapped(f"    {label:<9}{text}", columns(), 13) for label, text in rows]
    return "".join(f"{line}\n" for line in lines)


def _answer_lines(lines: BinaryIO, target: Target, form: str) -> int:
    """Answer every line of a file; 2 where one could not be answered, else 0."""
    code = 0
    for number, line in enumerate(iter(lambda: lines.readline(TEXT), b""), 1):
        if not line.strip():
            continue
        if len(line) == TEXT:
            raise UsageError(f"line {number} has {TEXT} bytes or more; a record is one line")
        try:
            answer = _answer(_record(line), target)
            text = json_text(answer, None) if form == "json" else _text(answer, target)
        except Exception as error:
            says = str(error) if isinstance(error, ValueError) else f"internal error: {type(error).__name__}: {error}"
            problem, code = {"line": number, "error": says}, 2
            text = json_text(problem, None) if form == "json" else f"line {number}: {says}\n"
        sys.stdout.write(text)
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


def _shape(args: argparse.Namespace) -> dict[str, object]:
    """The options of a single shape as a record of the JSON lines."""
    record: dict[str, object] = {"wrapper": args.wrapper}
    for option, count in SHAPES.items():
        name = option.removeprefix("--").replace("-", "_")
        if text := getattr(args, name):
            parts = text.split(",")
            if len(parts) != count or not all(part.strip().isdecimal() for part in parts):
                raise UsageError(f"{option}: {text!r} is not {count} whole numbers separated by commas")
            record[name] = [int(part) for part in parts]
    if args.ch_mult is not None:
        record["ch_mult"] = args.ch_mult
    if args.per_channel:
        record["per_channel"] = True
    return record
