"""`onnxlint-cmsis widths FILE`: what other channel counts would cost, for those who can train the model anew."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.commands.terminal import columns
from onnxlint_cmsis.errors import UsageError
from onnxlint_cmsis.reporters.plain import json_text
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.planning.staircase import Staircase

DESCRIPTION = (
    "Show what a model costs with other channel counts: for each class of channels that may change, predicted "
    "instructions (not cycles), bytes of constants and of activations over the counts around today's, one class at a "
    "time. It names counts that cost nothing more, cliffs, and counts that run into a known error or wrong result."
)
PLACEMENTS = 1_500_000
"""Buffers that may be placed to plan the arenas of all widths of a model: a count of work, the same on every machine.
A network of 50 convolutions with up to 2,048 channels needs 1.2 million; one million takes about 5 s."""
WORK_DIGITS = 15
"""Digits of the largest number of buffers that may be asked for."""
KEYS = ("targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "clock", "memory")


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("widths", DESCRIPTION)
    parser.add_argument("file", metavar="FILE", help="model file")
    parser.add_argument("--output-format", dest="form", choices=("text", "json"), default="text", help="Default: text.")
    parser.add_argument("--plot", metavar="FILE.svg", default="", help="draw the staircases into a file as well")
    text = "how far to look: from today's count divided by this to today's times this. Default: 2."
    parser.add_argument("--reach", type=_reach, default=2.0, metavar="FACTOR", help=text)
    text = (
        "how many buffers may be placed to plan the arenas of all counts, or unlimited; where they do not suffice, the "
        f"counts nearest to today's are tried. Default: {PLACEMENTS}."
    )
    parser.add_argument("--work", type=_work, default=PLACEMENTS, metavar="N", help=text)
    parser.add_argument("--full-names", action="store_true", help="show names as they stand in the file")
    add_keys(parser, KEYS)
    return parser


def run(argv: list[str]) -> int:
    """Print the widths of a model."""
    args = make_parser().parse_args(argv)
    from onnxlint_cmsis.commands.width_times import WidthTimes
    from onnxlint_cmsis.coverage.naming import layer_names

    settings = configuration(args).settings_for(args.file)
    model = _model(args.file, settings)
    found = _staircases(model, settings, args.reach, args.work)
    names = {} if args.full_names else dict(layer_names(model).names)
    times = WidthTimes(model) if any(model.settings.clocks) else None
    if args.plot:
        from onnxlint_cmsis.atomic import write_text
        from onnxlint_cmsis.commands.widths_svg import widths_svg

        write_text(args.plot, widths_svg(found, settings.targets, names))
    if args.form == "json":
        from onnxlint_cmsis.commands.widths_json import widths_json

        sys.stdout.write(json_text(widths_json(args.file, found, settings.targets, times)))
    else:
        from onnxlint_cmsis.commands.widths_text import widths_text

        today = times.today if times else ()
        sys.stdout.write(widths_text(found, settings.targets, names, columns(), today))
    return 0


def _reach(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1 < factor <= 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 1, up to 16")
    return factor


def _work(text: str) -> int:
    if text == "unlimited":
        return sys.maxsize
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= WORK_DIGITS):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a whole number of at most {WORK_DIGITS} digits nor `unlimited`"
        )
    return int(text)


def _model(path: str, settings: Settings) -> ModelAnalysis:
    """The model of a file. Raises UsageError."""
    from onnxlint_cmsis.graph.model_error import ModelError
    from onnxlint_cmsis.open_model import open_model

    try:
        return open_model(path, settings.analysis)
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None


def _staircases(model: ModelAnalysis, settings: Settings, reach: float, work: int) -> list[Staircase]:
    from onnxlint_cmsis.cmsis_nn.cost import predicted
    from onnxlint_cmsis.commands.progress import ProgressLine
    from onnxlint_cmsis.planning.planning_input import planning_input
    from onnxlint_cmsis.planning.price import Prices
    from onnxlint_cmsis.planning.staircase import staircases

    prices = Prices(settings.targets, predicted, model.route, model.settings.runtime.library)
    open_ones = [group for group in model.dimensions.classes if group.freedom is not Freedom.LOCKED]
    progress = ProgressLine(len(open_ones), "classes", least=1)
    found = []
    for each in staircases(planning_input(model, prices), prices, reach, work):
        found.append(each)
        progress.step(model.path)
    progress.close()
    return found
