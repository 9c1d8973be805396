"""Arena against predicted instructions: bytes upwards, instructions to the right, a point for each way to lay out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.foreign_text import markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxlint_cmsis.analysis.arena_ways import ArenaOnTarget, ArenaWay

HIGH, FOOT = 170, 18
"""Pixels of the curve with room for a line of words above it, and of the words below it."""
ROOM = 18
"""Pixels above the highest point."""
LEFT, WIDE = 4, 92
"""Percent of the width in front of the curve, and of the curve."""


class CurvePoint(NamedTuple):
    """One way to lay a model out on a target."""

    text: str
    """What is done to the model."""
    bytes: int
    """Size to declare for the arena."""
    least: int
    """Least predicted instructions."""
    most: int
    """Most predicted instructions."""
    unknown: int
    """Layers of unknown cost, which the instructions leave out."""
    registers: tuple[str, ...]
    """What the application registers besides: `AddConcatenation()`."""

    @property
    def instructions(self) -> str:
        """`311,844`, or `between 450,000 and 2,100,000`."""
        known = f"{self.most:,}" if self.least == self.most else f"between {self.least:,} and {self.most:,}"
        return f"{known}, without {self.unknown} of unknown cost" if self.unknown else known


class ArenaCurve(NamedTuple):
    """The points of targets on which they are equal."""

    cpus: str
    """The targets; empty where they are all."""
    points: tuple[CurvePoint, ...]
    """The model as it is, then what makes its arena smaller."""


def arena_curves(ways: Sequence[ArenaWay]) -> list[ArenaCurve]:
    """A curve for each group of targets with equal points."""
    groups: dict[tuple[CurvePoint, ...], list[str]] = {}
    for number, first in enumerate(ways[0].targets if ways else ()):
        points = tuple(_point(way, way.targets[number]) for way in ways)
        groups.setdefault(points, []).append(cpu_of(first.memory.target))
    return [ArenaCurve(", ".join(cpus) if len(groups) > 1 else "", points) for points, cpus in groups.items()]


def _point(way: ArenaWay, on: ArenaOnTarget) -> CurvePoint:
    return CurvePoint(way.text, on.bytes, *on.price.instructions, on.price.unknown, way.registers)


def curve_svg(points: Sequence[CurvePoint]) -> str:
    """The curve as SVG that takes the width of its place; bytes begin at 0, instructions at the least of all."""
    sizes = [point.bytes for point in points]
    title = f"Arena against predicted instructions: from {sizes[0]:,} bytes as it is to {min(sizes):,} bytes"
    least, most = min(point.least for point in points), max(point.most for point in points)
    return "".join(
        (
            f'<svg class="curve" width="100%" height="{HIGH + FOOT}" role="img"><title>{title}</title>',
            *_levels(sizes),
            f'<line class="axis" x1="0" x2="100%" y1="{HIGH}" y2="{HIGH}"/>',
            *(f'<text x="{x}" y="{HIGH + FOOT - 4}" text-anchor="{anchor}">{number:,}</text>'
              for x, anchor, number in (("0", "start", least), ("100%", "end", most))
              if anchor == "start" or least < most),
            *_lines(points, least, most),
            *(_dot(point, least, most, max(sizes)) for point in points),
            "</svg>",
        )
    )  # fmt: skip


def _levels(sizes: Sequence[int]) -> Iterator[str]:
    """Lines at the most and the least bytes, the words of the first above it and of the other below."""
    for size, words in ((max(sizes), -5), (min(sizes), 14)):
        y = _up(size, max(sizes))
        yield f'<line class="level-line" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="100%" y="{y + words:.1f}" text-anchor="end">{size:,} bytes</text>'


def _lines(points: Sequence[CurvePoint], least: int, most: int) -> Iterator[str]:
    """From each point to the next."""
    top = max(point.bytes for point in points)
    for start, end in pairwise(points):
        x1, x2 = (_right(point.most, least, most) for point in (start, end))
        y1, y2 = (_up(point.bytes, top) for point in (start, end))
        yield f'<line class="way" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _dot(point: CurvePoint, least: int, most: int, top: int) -> str:
    """A point at its most instructions, with a pale line from its least ones."""
    x, y = _right(point.most, least, most), _up(point.bytes, top)
    title = markup(f"{point.text}: {point.bytes:,} bytes, {point.instructions} predicted instructions")
    shape = f'<circle class="way" cx="{x:.2f}%" cy="{y:.1f}" r="5"/>'
    if point.least < point.most:
        begin = _right(point.least, least, most)
        shape = f'<line class="way range" x1="{begin:.2f}%" x2="{x:.2f}%" y1="{y:.1f}" y2="{y:.1f}"/>{shape}'
    return f"<g><title>{title}</title>{shape}</g>"


def _right(instructions: int, least: int, most: int) -> float:
    return LEFT + (WIDE * (instructions - least) / (most - least) if most > least else 0)


def _up(size: int, top: int) -> float:
    return HIGH - (HIGH - ROOM) * size / max(top, 1)
