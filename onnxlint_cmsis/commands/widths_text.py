"""Widths of a model's classes as text: which cost nothing more, where cost jumps, where hazards begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.cmsis_nn.cost.predicted_time import PredictedTime
    from onnxlint_cmsis.planning.staircase import Staircase, WidthStep
    from onnxlint_cmsis.types import Target

SHOWN = 4
"""Sizes or layers that a line names before it only counts."""


def widths_text(
    found: list[Staircase],
    targets: tuple[Target, ...],
    names: Mapping[str, str],
    width: int,
    today: Sequence[PredictedTime | None] = (),
) -> str:
    """Times of the model as it is, then a paragraph for each class, and a line for each target in it."""
    clocked = zip(targets, today, strict=False)
    times = [f"{target.cpu}: the model as it is: {time.text}" for target, time in clocked if time]
    lines = [line for each in found for line in _class(each, targets, names)]
    lines = times + (lines or ["No class of channels is free to change: see `onnxlint-cmsis layers`."])
    return "".join(wrapped(line, width, 8) + "\n" for line in lines)


def class_title(each: Staircase, names: Mapping[str, str]) -> str:
    """The layers that decide a class."""
    labels = [names.get(one.label, one.label) for one in each.group.deciders or each.group.readers]
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return f"{', '.join(labels[:SHOWN])}{more}"


def _class(each: Staircase, targets: tuple[Target, ...], names: Mapping[str, str]) -> Iterator[str]:
    yield f"{class_title(each, names)}: {each.group.size} channels, {each.group.freedom.value}"
    if each.unpriced:
        yield f"    the cost of '{names.get(each.unpriced, each.unpriced)}' along them is unknown and left out"
    if each.untried:
        tried = len(each.steps)
        yield (
            f"    not searched further: {tried:,} of {tried + each.untried:,} counts tried, {each.steps[0].size} to "
            f"{each.steps[-1].size}; --reach narrows the search, --work extends it"
        )
    for place, target in enumerate(targets):
        yield f"    {target.cpu}: {'; '.join(_facts(each, place))}"


def _facts(each: Staircase, target: int) -> Iterator[str]:
    now, by_size = each.present, {step.size: step for step in each.steps}
    free = each.as_cheap(target)
    if free > now.size:
        yield f"{now.size} -> {free} is all but free: {change(now, by_size[free], target)}"
    up = by_size.get(now.size + 1)
    if up and free == now.size:
        yield f"{now.size} -> {up.size}: {change(now, up, target)}"
    dips, cliffs = each.dips(target), dict(each.cliffs(target))
    yield from _named("cheaper than the count below", [str(size) for size in _near(dips, now.size)], len(dips))
    jumps = [f"{size} ({cliffs[size]:+,})" for size in _near([*cliffs], now.size)]
    yield from _named("cliffs at", jumps, len(cliffs))
    broken, unknown = spans(_broken(each, target)), spans([step.size for step in each.steps if step.unknown])
    yield from _named("known errors or wrong results at", broken[:SHOWN], len(broken))
    yield from _named("unknown cost at", unknown[:SHOWN], len(unknown))


def _near(sizes: list[int], now: int) -> list[int]:
    """The few sizes that are nearest to today's, in order."""
    return sorted(sorted(sizes, key=lambda size: abs(size - now))[:SHOWN])


def _broken(each: Staircase, target: int) -> list[int]:
    """Sizes with more hazards than today's."""
    return [step.size for step in each.steps if step.hazards[target] > each.present.hazards[target]]


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
    found: list[list[int]] = []
    for size in sizes:
        if found and found[-1][-1] == size - 1:
            found[-1].append(size)
        else:
            found.append([size])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found]
