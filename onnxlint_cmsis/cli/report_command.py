"""The command `report`."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.discovery import models_of
from onnxlint_cmsis.cli.measured_log import measured_by
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.versions import Version, opened
from onnxlint_cmsis.config.settings import KEYS as SETTINGS
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import json_text

if TYPE_CHECKING:
    import argparse

    from onnxlint_cmsis.analysis.arena_ways import ArenaWay
    from onnxlint_cmsis.config.files import Configuration
    from onnxlint_cmsis.output.html.report_input import ReportInput


DESCRIPTION = (
    "Write one self-contained HTML page of each model: verdict, findings with what to do, predicted instructions (not "
    "cycles) of each layer on each target, memory over time, the graph with its channel classes. It needs jinja2 "
    "(pip install 'onnxlint-cmsis[report]')."
)
KEYS = tuple(key.name for key in SETTINGS if key.option and key.name not in ("output-format", "baseline", "min-level"))
"""Settings that decide what is found."""
MODEL_EXPLORER = "model-explorer"


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("report", DESCRIPTION)
    add = parser.judged.add_argument
    add("files", nargs="+", metavar="FILE", help="Model file, or COMMIT:PATH of git.")
    text = "The version before, shown side by side: a file, or COMMIT:PATH of git."
    add("--against", metavar="OTHER", default="", help=text)
    text = "Log of a profiler of this model: what was measured beside each layer, and what is wrong with the build."
    add("--measured", default="", metavar="LOG", help=text)
    add_keys(parser, KEYS)
    add = parser.output.add_argument
    text = "File to write, or the folder for several."
    add("-o", "--output-file", metavar="FILE", required=True, help=text)
    text = f"Instead of a page, instructions of one target for Model Explorer: {MODEL_EXPLORER}."
    add("--overlay", choices=(MODEL_EXPLORER,), metavar="NAME", default="", help=text)
    return parser


def run(argv: list[str]) -> int:
    """Write a page or an overlay of each model, once all are worked out."""
    from onnxlint_cmsis.ground.atomic_write import write_text

    args = make_parser().parse_args(argv)
    args.files = [model for file in args.files for model in models_of(file)]
    if args.against and len(args.files) > 1:
        raise UsageError("--against shows two versions of one model: name one FILE")
    if args.measured and (len(args.files) > 1 or args.overlay):
        raise UsageError("--measured is for the page of one model: name one FILE, and no --overlay")
    if args.against and args.overlay:
        raise UsageError("--overlay shows one version of a model: leave out --against")
    outputs = _outputs(args)
    models = {os.path.realpath(file_of(path)) for path in filter(None, (*args.files, args.against))}
    for output in outputs:
        if os.path.realpath(output) in models:
            raise UsageError(f"-o {output} is one of the models: name another file")
    settings = configuration(args)
    texts = [_overlay(file, settings) if args.overlay else _page(file, args, settings) for file in args.files]
    for output, text in zip(outputs, texts, strict=True):
        try:
            if output != Path(args.output_file):
                output.parent.mkdir(parents=True, exist_ok=True)
            write_text(str(output), text)
        except OSError as error:
            raise UsageError(f"{output}: {error.strerror or error}") from None
    return 0


def _outputs(args: argparse.Namespace) -> list[Path]:
    """A file for each model: the one that is named, or in the folder that is named one with the model's name."""
    named = Path(args.output_file)
    if len(args.files) == 1 and not named.is_dir():
        return [named]
    suffix = ".json" if args.overlay else ".html"
    if named.is_file() or (named.suffix.lower() == suffix and not named.is_dir()):
        raise UsageError(f"-o {named}: name a folder for several models")
    outputs: dict[str, Path] = {}
    for file in args.files:
        model = Path(file).name.rpartition(":")[2]  # behind the commit, in COMMIT:PATH
        names = (f"{model}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
        name = next(name for name in names if name.casefold() not in outputs)
        outputs[name.casefold()] = named / name
    return [*outputs.values()]


def report_input(given: Version, configured: Configuration) -> ReportInput:
    """A version read and linted, with its memory. Raises UsageError."""
    from onnxlint_cmsis.cli.compare_versions import version_of
    from onnxlint_cmsis.output.html.report_input import ReportInput

    version, model = version_of(given, configured)
    return ReportInput(version, model, tuple(map(model.execution.memory, model.settings.targets)))


def _page(file: str, args: argparse.Namespace, settings: Configuration) -> str:
    from onnxlint_cmsis.output.html.page import render_page, require_jinja2

    require_jinja2()
    with opened(file, *filter(None, (args.against,))) as versions:
        given, *before = (report_input(version, settings) for version in versions)
        given = given._replace(smaller=_smaller(given, settings))
        measured = measured_by(args.measured, [given.version.layers])
        return render_page(given, *before, measured=measured)


def _smaller(given: ReportInput, configured: Configuration) -> tuple[ArenaWay, ...]:
    """What makes the arena of a model smaller, of a file that `--fix` would take."""
    from onnxlint_cmsis.cli.fix_promises import can_fix, fix_request
    from onnxlint_cmsis.fixers.memory.arena_curve import arena_ways

    model = given.model
    if not can_fix(model):
        return ()
    return arena_ways(model, fix_request(configured.settings_for(model.path), model.path, model))


def _overlay(file: str, settings: Configuration) -> str:
    from onnxlint_cmsis.output.html.model_explorer import node_data

    with opened(file) as (version,):
        given = report_input(version, settings)
        if len(given.model.settings.targets) != 1:
            raise UsageError("--overlay shows one target: name it with --target")
        return json_text(node_data(given))
