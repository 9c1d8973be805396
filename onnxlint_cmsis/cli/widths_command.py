"""The command `widths`: a model's time at other widths, as text, JSON and SVG."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.coverage import summarize, time_of
from onnxlint_cmsis.cli.options import CommandParser, add_form, add_full_names, add_keys, columns, configuration
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.output.plain import json_text, markup, wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.results import TargetSummary
    from onnxlint_cmsis.cmsis_nn.time import PredictedTime
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.fixers.planning.solve import Staircase, WidthStep
    from onnxlint_cmsis.ground.types import Target


# Predicted times of a model, today and at other widths.


class WidthTimes:
    """Times of a model on each of its targets; None for a target without a clock."""

    def __init__(self, model: ModelAnalysis) -> None:
        self._model = model
        self._targets = summarize(model).targets

    @property
    def today(self) -> tuple[PredictedTime | None, ...]:
        """Time of the unchanged model on each target."""
        return tuple(target.time for target in self._targets)

    def ranges(self, instructions: Sequence[int]) -> list[dict[str, float] | None]:
        """Times in milliseconds on each target, from predicted instructions; None without a prediction."""
        targets = zip(self._model.settings.targets, instructions, self._targets, strict=True)
        times = (
            time_of(self._model, target, _range(number, here), here.unknown_cost) for target, number, here in targets
        )
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
        "cliffs": [
            [{"size": size, "step": jump} for size, jump in staircase.cliffs(target)] for target in range(targets)
        ],
        "widths": [_step(step, times) for step in staircase.steps],
    }


def _step(step: WidthStep, times: WidthTimes | None) -> dict[str, object]:
    ranges = {"predicted_ms": times.ranges(step.instructions)} if times else {}
    return {**step._asdict(), "instructions": list(step.instructions), "hazards": list(step.hazards), **ranges}


# Widths of a model's classes as text: which cost nothing more, where cost jumps, where hazards begin.


SHOWN = 4
"""Sizes or layers that a line names before it only counts."""


def widths_text(
    stairs: list[Staircase],
    targets: tuple[Target, ...],
    names: Mapping[str, str],
    width: int,
    today: Sequence[PredictedTime | None] = (),
) -> str:
    """Times of the model as it is, then a paragraph for each class, and a line for each target in it."""
    clocked = zip(targets, today, strict=False)
    times = [f"{target.cpu}: the model as it is: {time.text}" for target, time in clocked if time]
    lines = [line for staircase in stairs for line in _text_class(staircase, targets, names)]
    lines = times + (lines or ["No class of channels is free to change: see `onnxlint-cmsis layers`."])
    return "".join(wrapped(line, width, 8) + "\n" for line in lines)


def class_title(staircase: Staircase, names: Mapping[str, str]) -> str:
    """The layers that decide a class."""
    labels = [names.get(layer.label, layer.label) for layer in staircase.group.deciders or staircase.group.readers]
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return f"{', '.join(labels[:SHOWN])}{more}"


def _text_class(staircase: Staircase, targets: tuple[Target, ...], names: Mapping[str, str]) -> Iterator[str]:
    yield f"{class_title(staircase, names)}: {staircase.group.size} channels, {staircase.group.freedom.value}"
    if staircase.unpriced:
        unpriced = names.get(staircase.unpriced, staircase.unpriced)
        yield f"    the cost of '{unpriced}' along them is unknown and left out"
    if staircase.untried:
        tried = len(staircase.steps)
        yield (
            f"    not searched further: {tried:,} of {tried + staircase.untried:,} counts tried,"
            f" {staircase.steps[0].size} to {staircase.steps[-1].size}; --reach narrows the search, --work extends it"
        )
    for target_index, target in enumerate(targets):
        yield f"    {target.cpu}: {'; '.join(_facts(staircase, target_index))}"


def _facts(staircase: Staircase, target: int) -> Iterator[str]:
    now, by_size = staircase.present, {step.size: step for step in staircase.steps}
    free = staircase.as_cheap(target)
    if free > now.size:
        yield f"{now.size} -> {free} is all but free: {change(now, by_size[free], target)}"
    up = by_size.get(now.size + 1)
    if up and free == now.size:
        yield f"{now.size} -> {up.size}: {change(now, up, target)}"
    dips, cliffs = staircase.dips(target), dict(staircase.cliffs(target))
    yield from _named("cheaper than the count below", [str(size) for size in _near(dips, now.size)], len(dips))
    jumps = [f"{size} ({cliffs[size]:+,})" for size in _near([*cliffs], now.size)]
    yield from _named("cliffs at", jumps, len(cliffs))
    hazards = now.hazards[target]
    broken = spans([step.size for step in staircase.steps if step.hazards[target] > hazards])
    unknown = spans([step.size for step in staircase.steps if step.unknown])
    yield from _named("known errors or wrong results at", broken[:SHOWN], len(broken))
    yield from _named("unknown cost at", unknown[:SHOWN], len(unknown))


def _near(sizes: list[int], now: int) -> list[int]:
    """The few sizes that are nearest to today's, in order."""
    return sorted(sorted(sizes, key=lambda size: abs(size - now))[:SHOWN])


def change(now: WidthStep, then: WidthStep, target: int) -> str:
    """`+0.3 % predicted instructions`."""
    have = now.instructions[target]
    part = 100 * (then.instructions[target] - have) / have if have else 0.0
    return f"{part:+.1f} % predicted instructions"


def _named(title: str, texts: list[str], count: int) -> Iterator[str]:
    """The texts behind a title, and how many more there are; nothing where there are none."""
    if texts:
        more = f" and {count - len(texts)} more" if count > len(texts) else ""
        yield f"{title} {', '.join(texts)}{more}"


def spans(sizes: list[int]) -> list[str]:
    """`17-20` for sizes in a row."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and runs[-1][-1] == size - 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


# Staircases as one SVG picture: a panel for each class, a line for each target.


COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the targets; told apart by people who are colour-blind too (Okabe and Ito, 2008)."""
WIDE, HIGH, LEFT, TOP, GAP = 420, 150, 60, 40, 74
"""Size of a panel's plot, its margins, and the room below it, in pixels."""
_STYLE = """svg{font:12px system-ui,sans-serif;background:#fff;fill:#222}
.axis{stroke:#888;fill:none}.now{stroke:#888;stroke-dasharray:3 3}.line{fill:none;stroke-width:1.5}.bad{fill:#c00}
@media (prefers-color-scheme:dark){svg{background:#1b1b1b;fill:#ddd}}"""


def widths_svg(stairs: list[Staircase], targets: tuple[Target, ...], names: Mapping[str, str]) -> str:
    """The picture: change of the model's predicted instructions in percent over the channels of each class."""
    high = TOP + max(1, len(stairs)) * (HIGH + GAP)
    wide = LEFT + WIDE + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">',
        "<title>Predicted instructions over channel counts</title>",
        f"<style>{_STYLE}</style>",
        *_legend(targets),
    ]
    for row, staircase in enumerate(stairs):
        parts += _panel(staircase, len(targets), names, TOP + row * (HIGH + GAP))
    return "\n".join([*parts, "</svg>", ""])


def _legend(targets: tuple[Target, ...]) -> Iterator[str]:
    for row, target in enumerate(targets):
        left = LEFT + 150 * row
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{COLORS[row % len(COLORS)]}"/>'
        yield f'<text x="{left + 18}" y="19">{markup(target.cpu)}</text>'


def _panel(staircase: Staircase, targets: int, names: Mapping[str, str], top: int) -> Iterator[str]:
    """Title, axes, today's count, lines, and a mark where a count runs into a known error or wrong result."""
    changes = [[_percent(staircase, target, at) for at in range(len(staircase.steps))] for target in range(targets)]
    low, most = min(map(min, changes)), max(map(max, changes))
    span = (most - low) or 1.0
    first, last = staircase.steps[0].size, staircase.steps[-1].size

    def across(size: float) -> float:
        return LEFT + WIDE * (size - first) / max(1, last - first)

    def down(change: float) -> float:
        return top + 20 + HIGH * (1 - (change - low) / span)

    yield f'<text x="{LEFT}" y="{top + 10}">{markup(class_title(staircase, names))}</text>'
    yield f'<path class="axis" d="M{LEFT} {top + 20}V{top + 20 + HIGH}H{LEFT + WIDE}"/>'
    for change in sorted({low, 0.0, most}):
        yield f'<text x="{LEFT - 6}" y="{down(change) + 4:.1f}" text-anchor="end">{change:+.0f} %</text>'
    for size in sorted({first, staircase.group.size, last}):
        yield f'<text x="{across(size):.1f}" y="{top + 36 + HIGH}" text-anchor="middle">{size}</text>'
    now = across(staircase.group.size)
    yield f'<path class="now" d="M{now:.1f} {top + 20}V{top + 20 + HIGH}"/>'
    for target, line in enumerate(changes):
        yield _stairs(staircase, [down(change) for change in line], across, COLORS[target % len(COLORS)])
        for step, change in zip(staircase.steps, line, strict=True):
            if step.hazards[target] > staircase.present.hazards[target]:
                title = f"{step.size} channels: a known error or wrong result"
                yield f'<circle class="bad" cx="{across(step.size):.1f}" cy="{down(change):.1f}" r="2.5">'
                yield f"<title>{title}</title></circle>"


def _percent(staircase: Staircase, target: int, at: int) -> float:
    """Change of a step against today's, in percent."""
    have = staircase.present.instructions[target]
    return 100 * (staircase.steps[at].instructions[target] - have) / have if have else 0.0


def _stairs(staircase: Staircase, heights: list[float], across: Callable[[float], float], color: str) -> str:
    """One line of steps, each as wide as one channel."""
    path = f"M{across(staircase.steps[0].size):.1f} {heights[0]:.1f}"
    for step, height in zip(staircase.steps[1:], heights[1:], strict=True):
        path += f"H{across(step.size):.1f}V{height:.1f}"
    return f'<path class="line" stroke="{color}" d="{path}"/>'


# `onnxlint-cmsis widths FILE`: what other channel counts would cost, for those who can train the model anew.


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
    add = parser.judged.add_argument
    add("file", metavar="FILE", help="Model file.")
    text = "How far to look: today's count divided and multiplied by this. Default: 2."
    add("--reach", type=_reach, default=2.0, metavar="FACTOR", help=text)
    text = f"Buffers to place in the arenas of all counts, or unlimited. Default: {PLACEMENTS}."
    add("--work", type=_work, default=PLACEMENTS, metavar="N", help=text)
    add_keys(parser, KEYS)
    add_form(parser)
    text = "Draw the staircases into a file as well."
    parser.output.add_argument("--plot", metavar="FILE.svg", default="", help=text)
    add_full_names(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print the widths of a model."""
    args = make_parser().parse_args(argv)
    from onnxlint_cmsis.analysis.coverage import layer_names

    settings = configuration(args).settings_for(args.file)
    model = _model(args.file, settings)
    stairs = _staircases(model, settings, args.reach, args.work)
    names = {} if args.full_names else dict(layer_names(model).names)
    times = WidthTimes(model) if any(model.settings.clocks) else None
    if args.plot:
        from onnxlint_cmsis.ground.files import write_text

        write_text(args.plot, widths_svg(stairs, settings.targets, names))
    if args.form == "json":
        sys.stdout.write(json_text(widths_json(args.file, stairs, settings.targets, times)))
    else:
        today = times.today if times else ()
        sys.stdout.write(widths_text(stairs, settings.targets, names, columns(), today))
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
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.model.graph import ModelError

    try:
        return ModelAnalysis(path, settings.analysis)
    except ModelError as error:
        raise UsageError(f"{path}: {error.message}") from None


def _staircases(model: ModelAnalysis, settings: Settings, reach: float, work: int) -> list[Staircase]:
    from onnxlint_cmsis.cli.options import ProgressLine
    from onnxlint_cmsis.cmsis_nn.library import predicted
    from onnxlint_cmsis.fixers.planning.problem import Prices, planning_input
    from onnxlint_cmsis.fixers.planning.solve import staircases

    prices = Prices(settings.targets, predicted, model.route, model.settings.runtime.library)
    open_ones = [group for group in model.dimensions.classes if group.freedom is not Freedom.LOCKED]
    progress = ProgressLine(len(open_ones), "classes", least=1)
    stairs = []
    for staircase in staircases(planning_input(model, prices), prices, reach, work):
        stairs.append(staircase)
        progress.step(model.path)
    progress.close()
    return stairs
