"""`onnxlint-cmsis compare old.elf new.elf`: what a build changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.image_command import TITLES, WIDTH
from onnxlint_cmsis.cli.terminal import columns
from onnxlint_cmsis.ground.errors import NoBaseError, UsageError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.build import Build, LibraryBuild, build_from, read_build
from onnxlint_cmsis.images.build_changes import CORE, BuildChange, build_changes
from onnxlint_cmsis.images.facts import Fact, facts_of
from onnxlint_cmsis.images.image import ImageError
from onnxlint_cmsis.output.comparison import Figure
from onnxlint_cmsis.output.comparison_text import EXCEEDED, change_text
from onnxlint_cmsis.output.foreign_text import json_text, markdown, markdown_code, printable
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.cli.versions import Version
    from onnxlint_cmsis.output.growth_limits import GrowthLimit

VERSION = 1
"""Of the JSON; grows when a field is renamed, removed or changes its meaning."""
METRICS = ("flash", "ram", "arena")
"""Figures of an image that can have a limit; the arena is the sum of what is called so."""


class ImageComparison(NamedTuple):
    """What changed from one image to the next."""

    before: str
    """The first, as the user named it."""
    after: str
    """The second."""
    changes: tuple[BuildChange, ...]
    """Facts that differ."""
    over: tuple[Figure, ...]
    """Figures that grew by more than is allowed."""
    untold: tuple[str, ...] = ()
    """Figures with a limit that the first does not tell."""

    @classmethod
    def of(cls, before: Version, after: Version, limits: tuple[GrowthLimit, ...]) -> ImageComparison:
        """Compare two versions; limits of what the first does not tell hold nothing.

        Raises UsageError, and NoBaseError where the first cannot be compared with.
        """
        try:
            old = _read(before)
        except UsageError as error:
            raise NoBaseError(str(error)) from None
        new = _read(after)
        if type(old) is not type(new):
            raise UsageError(f"{before.name} and {after.name}: one is a library, the other an image")
        figures = [Figure(metric, "", _figure(old, metric), _figure(new, metric)) for metric in METRICS]
        known = {figure.metric for figure in figures if figure.before is not None}
        untold = tuple(limit.metric for limit in limits if limit.metric not in known)
        over = tuple(figure for figure in figures if any(limit.exceeded(figure) for limit in limits))
        return cls(before.name, after.name, build_changes(old, new), over, untold)

    def fields(self) -> dict[str, object]:
        """What changed, for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "changes": [
                {
                    "key": change.key, "certainty": change.certainty, "text": change.text,
                    "before": _fact(change.before), "after": _fact(change.after),
                    "came": [*change.came], "went": [*change.went],
                }
                for change in self.changes
            ],
            "over": [{"metric": row.metric, "before": row.before, "after": row.after} for row in self.over],
        }  # fmt: skip

    def shown(self, form: str) -> str:
        """What changed, as text or as Markdown."""
        return _markdown(self) if form == "markdown" else _text(self)


def compare_images(before: Version, after: Version, limits: tuple[GrowthLimit, ...], form: str) -> int:
    """Print what a build changed; 1 where a figure grew too much. Raises UsageError."""
    compared = ImageComparison.of(before, after, limits)
    if compared.untold:
        raise UsageError(f"--fail-on-increase {compared.untold[0]}: {before.name} does not tell it")
    sys.stdout.write(json_text({"version": VERSION, **compared.fields()}) if form == "json" else compared.shown(form))
    return 1 if compared.over else 0


def _read(version: Version) -> Build | LibraryBuild:
    try:
        build = read_build(version.file) if version.data is None else build_from(version.file, memoryview(version.data))
        facts = facts_of(build)
    except ImageError as error:
        raise UsageError(f"{version.name}: {error}") from None
    if not facts:
        raise UsageError(f"{version.name}: nothing in it tells of CMSIS-NN, of a runtime or of a model")
    return build


def _figure(build: Build | LibraryBuild, metric: str) -> int | None:
    memory = build.memory if isinstance(build, Build) else None
    if memory is None:
        return None
    if metric == "arena":
        return sum(arena.size for arena in memory.arenas) if memory.arenas else None
    return memory.flash if metric == "flash" else memory.ram


def _title(change: BuildChange) -> str:
    return "Core" if change.key == CORE else TITLES[change.key]


def _text(compared: ImageComparison) -> str:
    lines = [f"{compared.before} -> {compared.after}"]
    lines += [f"  {_title(change):<{WIDTH}}{change.text} [{change.certainty}]" for change in compared.changes]
    lines += [f"  {figure.metric}: {change_text(figure)} bytes, {EXCEEDED}" for figure in compared.over]
    if not compared.changes:
        lines.append("  Nothing that they tell differs.")
    width = columns()
    return "".join(f"{wrapped(printable(line), width)}\n" for line in lines)


def _markdown(compared: ImageComparison) -> str:
    lines = [f"### {markdown_code(compared.before)} → {markdown_code(compared.after)}", ""]
    lines += [f"* {_title(change)}: {markdown(change.text)} ({change.certainty})" for change in compared.changes]
    lines += [f"* {figure.metric}: {markdown(change_text(figure))} bytes, over the limit" for figure in compared.over]
    if not compared.changes:
        lines.append("Nothing that they tell differs.")
    return "\n".join([*lines, "", ""])


def _fact(fact: Fact | None) -> dict[str, object] | None:
    if fact is None:
        return None
    return {"value": fact.value, "certainty": fact.certainty, "evidence": fact.evidence}
