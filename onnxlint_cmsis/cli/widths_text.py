"""Widths of a model's classes as text: a line for each class, and below it with --plot a bar for each count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.output.foreign_text import block_character, counted
from onnxlint_cmsis.output.summaries import cost_text
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.results import TargetSummary
    from onnxlint_cmsis.fixers.planning.staircases import Staircase, WidthStep


LAYERS_NAMED = 2
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


TIME_MEANS = "; in brackets the milliseconds that the predicted time changes by"
"""Ends MEANING where the memories are known."""


MARKS = "> today's count, * a count behind which the cost rises more than usual, ! not at this count"


def today_text(target: TargetSummary) -> str:
    """`cortex-m4: the model as it is: 7,680,062 predicted instructions (not cycles)`, with the time at a clock."""
    left = f", {counted(target.unknown_cost, 'layer')} of unknown cost left out" if target.unknown_cost else ""
    cost = f"{cost_text(target)} predicted instructions (not cycles){left}" if target.cost_known else "cost unknown"
    time = f"; {target.time.text}" if target.time else ""
    return f"{cpu_of(target.target)}: the model as it is: {cost}{time}"


def widths_text(
    stairs: list[Staircase], today: Sequence[TargetSummary], names: Mapping[str, str], width: int, *, plot: bool = False
) -> str:
    """For each target the model as it is and a line for each class; with `plot` all counts below them.

    `today` is the model as it is on each target.
    """
    blocks, left_out = [], False
    for number, target in enumerate(today):
        lines = [wrapped(today_text(target), width, 8)]
        clock = target.time.clock if target.time else 0
        rows = [_cells(staircase, number, names, clock) for staircase in stairs]
        kept = [column for column, name in enumerate(HEAD) if name != NOT_AT or any(row[column] for row in rows)]
        left_out |= len(kept) == len(HEAD)
        titles, cells = [HEAD[column] for column in kept], [[row[column] for column in kept] for row in rows]
        table = fitted(titles, cells, ("now",), TableFit(width, {"layers": 16})).splitlines() if stairs else []
        for line, staircase in zip(table, [None, *stairs], strict=False):
            lines += [line, *(_plot(staircase, number) if plot and staircase else ())]
        blocks.append("".join(f"{line}\n" for line in lines))
    every = (more for staircase in stairs for step in staircase.steps for more in step.cycles)
    timed = any(len(more) == 1 and not isnan(more[0]) for more in every)
    notes = [
        f"{MEANING}{TIME_MEANS if timed else ''}{NOT_AT_MEANS if left_out else ''}",
        *[MARKS] * plot,
        *_notes(stairs, names),
    ]
    notes = notes if stairs else ["No class of channels is free to change: see `onnxlint-cmsis layers`."]
    return "\n".join([*blocks, "".join(f"{wrapped(note, width)}\n" for note in notes)])


def class_title(staircase: Staircase, names: Mapping[str, str]) -> str:
    """The layers that decide a class."""
    labels = [names.get(layer.label, layer.label) for layer in staircase.group.deciders or staircase.group.readers]
    return and_more(labels, LAYERS_NAMED)


def _cells(staircase: Staircase, target: int, names: Mapping[str, str], clock: int) -> list[str]:
    """A line of the table; `clock` is in hertz."""
    now = staircase.present
    nearest = (
        f"{step.size} {change(now, step, target)}{_time_change(step, target, clock)}" if step else "-"
        for step in staircase.nearest(target)
    )
    size, jump = staircase.cliff(target) or (0, 0)
    cliff = f"{size} {_percent(jump, now.instructions[target])}" if size else "-"
    sound = {step.size for step in staircase.sound(target)}
    left_out = spans([step.size for step in staircase.steps if step.size not in sound])
    return [class_title(staircase, names), str(now.size), *nearest, cliff, and_more(left_out, LAYERS_NAMED)]


def change(now: WidthStep, then: WidthStep, target: int) -> str:
    """`+0.3 %`, of the model's predicted instructions."""
    return _percent(then.instructions[target] - now.instructions[target], now.instructions[target])


def _time_change(step: WidthStep, target: int, clock: int) -> str:
    """` (-0.42 ms)`; empty where the memories, or the time of a layer, are not known."""
    more = step.cycles[target] if step.cycles else ()
    return f" ({1000 * more[0] / clock:+.2g} ms)" if len(more) == 1 and not isnan(more[0]) else ""


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
