"""The command `widths`: what a model costs at other widths, as text and JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.cli.options import (
    CommandParser,
    add_form,
    add_full_names,
    add_keys,
    analysed,
    columns,
    configuration,
    verdict_head,
)
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.fixes import cost_text
from onnxlint_cmsis.output.plain import TableFit, block_character, counted, fitted, json_text, wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.results import TargetSummary
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.staircases import Staircase, WidthStep
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


# Predicted times of a model, today and at other widths.


class WidthTimes:
    """Times of a model on each of its targets; None for a target without a clock."""

    def __init__(self, model: ModelAnalysis) -> None:
        self._targets = summarize(model).targets

    @property
    def today(self) -> tuple[PredictedTime | None, ...]:
        """Time of the unchanged model on each target."""
        return tuple(target.time for target in self._targets)

    def ranges(self, instructions: Sequence[int]) -> list[dict[str, float] | None]:
        """Times in milliseconds on each target, from predicted instructions; None without a prediction."""
        targets = zip(instructions, self._targets, strict=True)
        times = (here.time and here.time.of(_range(number, here), here.unknown_cost) for number, here in targets)
        bounds = (time.milliseconds if time else None for time in times)
        return [bound and {"low": bound[0], "high": bound[1]} for bound in bounds]


def _range(instructions: int, today: TargetSummary) -> tuple[int, int]:
    """Least and most of the whole model, whose layers and copies with a range stay as they are today."""
    least, most = today.instructions_range or (today.instructions, today.instructions)
    return instructions + least - today.instructions, instructions + most - today.instructions


# Widths as plain data for JSON, for tools that search architectures.


VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def widths_json(
    path: str, stairs: list[Staircase], targets: tuple[Target, ...], times: WidthTimes | None = None
) -> dict[str, object]:
    """Every class with every width; lists by target are in the order of `targets`. Times only with a clock."""
    return {
        "version": VERSION,
        "path": path,
        "targets": [target.label for target in targets],
        "instructions": "predicted instructions of the whole model, not cycles; layers of unknown cost left out",
        **({"time": [duration and duration.fields for duration in times.today]} if times else {}),
        "classes": [_json_class(staircase, len(targets), times) for staircase in stairs],
    }


def _json_class(staircase: Staircase, targets: int, times: WidthTimes | None) -> dict[str, object]:
    group = staircase.group
    return {
        "id": group.id,
        "freedom": group.freedom.value,
        "size": group.size,
        "layers": [layer.label for layer in group.deciders],
        "readers": [layer.label for layer in group.readers],
        "unpriced": staircase.unpriced,
        "untried": staircase.untried,
        "as_cheap": [staircase.as_cheap(target) for target in range(targets)],
        "down": [step and step.size for step in (staircase.nearest(target)[0] for target in range(targets))],
        "up": [step and step.size for step in (staircase.nearest(target)[1] for target in range(targets))],
        "cliffs": [
            [{"size": size, "step": jump} for size, jump in staircase.cliffs(target)] for target in range(targets)
        ],
        "widths": [_step(step, times) for step in staircase.steps],
    }


def _step(step: WidthStep, times: WidthTimes | None) -> dict[str, object]:
    ranges = {"predicted_ms": times.ranges(step.instructions)} if times else {}
    return {**step._asdict(), "instructions": list(step.instructions), "hazards": list(step.hazards), **ranges}


# Widths of a model's classes as text: a line for each class, and below it with --plot a bar for each count.


SHOWN = 2
"""Layers that a line names, and runs of counts, before it only counts."""
NOT_AT = "not at"
"""Column of counts with a further known error or wrong result, or of unknown cost; left out where there is none."""
HEAD = ("layers", "now", "down", "up", "cliff", NOT_AT)
"""Columns of the table."""
BAR = 32
"""Columns of the longest bar."""
MEANING = (
    "down, up: the nearest counts behind which the cost rises more than usual, else the counts next to today's; "
    "cliff: the nearest count at which the cost jumps; in percent of the model's predicted instructions"
)
NOT_AT_MEANS = f"; {NOT_AT}: known errors, wrong results or unknown cost"
"""Ends MEANING where the column is there."""
MARKS = "> today's count, * a count behind which the cost rises more than usual, ! not at this count"


def today_text(target: TargetSummary) -> str:
    """`cortex-m4: the model as it is: 7,680,062 predicted instructions (not cycles)`, with the time at a clock."""
    left = f", {counted(target.unknown_cost, 'layer')} of unknown cost left out" if target.unknown_cost else ""
    cost = f"{cost_text(target)} predicted instructions (not cycles){left}" if target.cost_known else "cost unknown"
    time = f"; {target.time.text}" if target.time else ""
    return f"{cpu_of(target.target)}: the model as it is: {cost}{time}"


def widths_text(
    stairs: list[Staircase], today: Sequence[str], names: Mapping[str, str], width: int, *, plot: bool = False
) -> str:
    """For each target the model as it is and a line for each class; with `plot` all counts below them.

    `today` tells what the model as it is costs on each target.
    """
    blocks, left_out = [], False
    for number, head in enumerate(today):
        lines = [wrapped(head, width, 8)]
        rows = [_cells(staircase, number, names) for staircase in stairs]
        kept = [column for column, name in enumerate(HEAD) if name != NOT_AT or any(row[column] for row in rows)]
        left_out |= len(kept) == len(HEAD)
        titles, cells = [HEAD[column] for column in kept], [[row[column] for column in kept] for row in rows]
        table = fitted(titles, cells, ("now",), TableFit(width, {"layers": 16})).splitlines() if stairs else []
        for line, staircase in zip(table, [None, *stairs], strict=False):
            lines += [line, *(_plot(staircase, number) if plot and staircase else ())]
        blocks.append("".join(f"{line}\n" for line in lines))
    notes = [f"{MEANING}{NOT_AT_MEANS if left_out else ''}", *[MARKS] * plot, *_notes(stairs, names)]
    notes = notes if stairs else ["No class of channels is free to change: see `onnxlint-cmsis layers`."]
    return "\n".join([*blocks, "".join(f"{wrapped(note, width)}\n" for note in notes)])


def class_title(staircase: Staircase, names: Mapping[str, str]) -> str:
    """The layers that decide a class."""
    labels = [names.get(layer.label, layer.label) for layer in staircase.group.deciders or staircase.group.readers]
    return and_more(labels, SHOWN)


def _cells(staircase: Staircase, target: int, names: Mapping[str, str]) -> list[str]:
    """A line of the table."""
    now = staircase.present
    nearest = (f"{step.size} {change(now, step, target)}" if step else "-" for step in staircase.nearest(target))
    size, jump = staircase.cliff(target) or (0, 0)
    cliff = f"{size} {_percent(jump, now.instructions[target])}" if size else "-"
    sound = {step.size for step in staircase.sound(target)}
    left_out = spans([step.size for step in staircase.steps if step.size not in sound])
    return [class_title(staircase, names), str(now.size), *nearest, cliff, and_more(left_out, SHOWN)]


def change(now: WidthStep, then: WidthStep, target: int) -> str:
    """`+0.3 %`, of the model's predicted instructions."""
    return _percent(then.instructions[target] - now.instructions[target], now.instructions[target])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0.0:+.1f} %"


def _plot(staircase: Staircase, target: int) -> Iterator[str]:
    """A bar for each count, from the cheapest to the dearest; counts in a row of one cost share a bar."""
    now, sound, cheap = staircase.present, staircase.sound(target), staircase.cheap(target)
    marks = {step.size: " " for step in sound} | {step.size: "*" for step in cheap} | {now.size: ">"}
    costs = [step.instructions[target] for step in staircase.steps]
    least, most = min(costs), max(costs)
    for (cost, mark), group in groupby(
        staircase.steps, key=lambda step: (step.instructions[target], marks.get(step.size, "!"))
    ):
        (sizes,) = spans([step.size for step in group])
        length = 1 + round((BAR - 1) * (cost - least) / max(1, most - least))
        part = _percent(cost - now.instructions[target], now.instructions[target])
        yield f"  {mark} {sizes:>11} {block_character() * length:<{BAR}} {part:>8}"


def _notes(stairs: Sequence[Staircase], names: Mapping[str, str]) -> Iterator[str]:
    for staircase in stairs:
        title = class_title(staircase, names)
        if staircase.unpriced:
            unpriced = names.get(staircase.unpriced, staircase.unpriced)
            yield f"{title}: the cost of '{unpriced}' along them is unknown and left out"
        if staircase.untried:
            first, *_, last = (*staircase.steps, staircase.steps[-1])
            tried = f"{len(staircase.steps):,} of {len(staircase.steps) + staircase.untried:,} counts tried"
            span = f"{first.size} to {last.size}; --reach narrows the search, --work extends it"
            yield f"{title}: not searched further: {tried}, {span}"


def spans(sizes: list[int]) -> list[str]:
    """`17-20` for sizes in a row."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and runs[-1][-1] == size - 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


# `onnxlint-cmsis widths FILE`: what other channel counts would cost, for those who can train the model anew.


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
    "targets", "release", "api", "compiler", "assume", "one-channel", "input-shapes", "runtime", "clock", "weights-in",
    "arena-in",
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
        today = [today_text(target) for target in summarize(model).targets]
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
    from onnxlint_cmsis.cli.options import ProgressLine
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
