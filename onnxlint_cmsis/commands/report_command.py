"""`onnxlint-cmsis report FILE`: what is known of a model as one HTML page, or as data for Model Explorer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.config.settings import KEYS as SETTINGS
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.reporters.plain import json_text

if TYPE_CHECKING:
    import argparse

DESCRIPTION = (
    "Write one self-contained HTML page of a model: summary, predicted instructions (not cycles) of each layer, memory "
    "over time, the graph with its channel classes, findings with remedies. It needs jinja2 "
    "(pip install 'onnxlint-cmsis[report]')."
)
KEYS = tuple(key.name for key in SETTINGS if key.option and key.name not in ("output-format", "baseline", "min-level"))
"""Settings that decide what is found."""
MODEL_EXPLORER = "model-explorer"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("report", DESCRIPTION)
    parser.add_argument("file", metavar="FILE", help="model file, or COMMIT:PATH of git")
    parser.add_argument("-o", "--output-file", metavar="FILE", required=True, help="file to write")
    text = "the version before: a file, or COMMIT:PATH of git; shown side by side"
    parser.add_argument("--against", metavar="OTHER", default="", help=text)
    text = "instead of a page, node data (JSON) with the predicted instructions for Model Explorer; for one target"
    parser.add_argument("--overlay", choices=(MODEL_EXPLORER,), default="", help=text)
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Write the page, or the overlay."""
    from onnxlint_cmsis.atomic import write_text

    args = make_parser().parse_args(argv)
    for path in filter(None, (args.file, args.against)):
        if os.path.realpath(path) == os.path.realpath(args.output_file):
            raise UsageError(f"-o {args.output_file} is one of the models: name another file")
    try:
        write_text(args.output_file, _overlay(args) if args.overlay else _page(args))
    except OSError as error:
        raise UsageError(f"{args.output_file}: {error.strerror or error}") from None
    return 0


def _page(args: argparse.Namespace) -> str:
    from onnxlint_cmsis.html_report.render_page import render_page, require_jinja2
    from onnxlint_cmsis.html_report.report_input import report_input
    from onnxlint_cmsis.html_report.report_page import report_page

    require_jinja2()
    settings = configuration(args)
    against = report_input(args.against, settings) if args.against else None
    return render_page(report_page(report_input(args.file, settings), against))


def _overlay(args: argparse.Namespace) -> str:
    from onnxlint_cmsis.html_report.model_explorer import node_data
    from onnxlint_cmsis.html_report.report_input import report_input

    if args.against:
        raise UsageError("--overlay shows one version of a model: leave out --against")
    given = report_input(args.file, configuration(args))
    if len(given.model.settings.targets) != 1:
        raise UsageError("--overlay shows one target: name it with --target")
    return json_text(node_data(given))
