"""`onnxlint-cmsis widths FILE`: what other channel counts would cost, for those who can train the model anew."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.analysed_file import analysed, verdict_head
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.output_options import add_form, add_full_names
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.cli.width_times import WidthTimes
from onnxlint_cmsis.cli.widths_json import widths_json
from onnxlint_cmsis.cli.widths_text import widths_text
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.output.foreign_text import json_text

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.staircases import Staircase


DESCRIPTION = (
    "Show what a model costs with other channel counts: for each class of channels that may change, predicted "
    "instructions (not cycles), bytes of constants and of activations over the counts around today's, one class at a "
    "time. It names the nearest counts that are worth having, cliffs, and counts that run into a known error or wrong "
    "result."
)
PLACEMENTS = 1_500_000
"""Buffers that may be placed to plan the arenas of all widths of a model: a count of work, the same on every machine.
A network of 50 convolutions with up to 2,048 channels needs 1.2 million; one million takes about 5 s."""
WORK_DIGITS = 15
"""Digits of the largest number of buffers that may be asked for."""
KEYS = (
    "targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "board", "clock",
    "weights-in", "arena-in", "timing",
)  # fmt: skip


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("widths", DESCRIPTION)
    add = parser.judged.add_argument
    add("file", metavar="FILE", help="Model file.")
    text = "How far to look: today's count divided and multiplied by this. Default: 2."
    add("--reach", type=_reach, default=2.0, metavar="FACTOR", help=text)
    text = f"Buffers to place in the arenas of all counts, or unlimited. Default: {PLACEMENTS}."
    add("--work", type=_work, default=PLACEMENTS, metavar="N", help=text)
    add_keys(parser, KEYS)
    add_form(parser)
    parser.output.add_argument("--plot", action="store_true", help="Show the cost of every count as a bar.")
    add_full_names(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print the widths of a model."""
    args = make_parser().parse_args(argv)
    from onnxlint_cmsis.analysis.layer_names import layer_names

    settings = configuration(args).settings_for(args.file)
    model = analysed(args.file, settings)
    stairs = _staircases(model, settings, args.reach, args.work)
    names = {} if args.full_names else dict(layer_names(model).names)
    times = WidthTimes(model) if any(model.settings.clocks) else None
    if args.form == "json":
        sys.stdout.write(json_text(widths_json(args.file, stairs, settings.targets, times)))
    else:
        from onnxlint_cmsis.analysis.coverage import summarize

        today = model.once(summarize).targets
        sys.stdout.write(verdict_head(model, settings, full_names=args.full_names))
        sys.stdout.write(widths_text(stairs, today, names, columns(), plot=args.plot))
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


def _staircases(model: ModelAnalysis, settings: Settings, reach: float, work: int) -> list[Staircase]:
    from onnxlint_cmsis.cli.progress import ProgressLine
    from onnxlint_cmsis.cmsis_nn.library import predicted
    from onnxlint_cmsis.fixers.planning.planning_input import planning_input
    from onnxlint_cmsis.fixers.planning.prices import Prices
    from onnxlint_cmsis.fixers.planning.staircases import staircases

    prices = Prices(settings.targets, predicted, model.route, model.settings.runtime.library)
    open_ones = [group for group in model.dimensions.classes if group.freedom is not Freedom.LOCKED]
    progress = ProgressLine(len(open_ones), "classes", least=1)
    stairs = []
    for staircase in staircases(planning_input(model, prices), prices, reach, work):
        stairs.append(staircase)
        progress.step(model.path)
    progress.close()
    return stairs
