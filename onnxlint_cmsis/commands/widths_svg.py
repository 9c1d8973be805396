"""Staircases as one SVG picture: a panel for each class, a line for each target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.widths_text import class_title
from onnxlint_cmsis.reporters.plain import markup

if TYPE_CHECKING:
    from onnxlint_cmsis.planning.staircase import Staircase
    from onnxlint_cmsis.types import Target

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the targets; told apart by people who are colour-blind too (Okabe and Ito, 2008)."""
WIDE, HIGH, LEFT, TOP, GAP = 420, 150, 60, 40, 74
"""Size of a panel's plot, its margins, and the room below it, in pixels."""
_STYLE = """svg{font:12px system-ui,sans-serif;background:#fff;fill:#222}
.axis{stroke:#888;fill:none}.now{stroke:#888;stroke-dasharray:3 3}.line{fill:none;stroke-width:1.5}.bad{fill:#c00}
@media (prefers-color-scheme:dark){svg{background:#1b1b1b;fill:#ddd}}"""


def widths_svg(found: list[Staircase], targets: tuple[Target, ...], names: Mapping[str, str]) -> str:
    """The picture: change of the model's predicted instructions in percent over the channels of each class."""
    high = TOP + max(1, len(found)) * (HIGH + GAP)
    wide = LEFT + WIDE + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">',
        "<title>Predicted instructions over channel counts</title>",
        f"<style>{_STYLE}</style>",
        *_legend(targets),
    ]
    for place, each in enumerate(found):
        parts += _panel(each, len(targets), names, TOP + place * (HIGH + GAP))
    return "\n".join([*parts, "</svg>", ""])


def _legend(targets: tuple[Target, ...]) -> Iterator[str]:
    for place, target in enumerate(targets):
        left = LEFT + 150 * place
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{COLORS[place % len(COLORS)]}"/>'
        yield f'<text x="{left + 18}" y="19">{markup(target.cpu)}</text>'


def _panel(each: Staircase, targets: int, names: Mapping[str, str], top: int) -> Iterator[str]:
    """Title, axes, today's count, lines, and a mark where a count runs into a known error or wrong result."""
    changes = [[_percent(each, target, at) for at in range(len(each.steps))] for target in range(targets)]
    low, most = min(map(min, changes)), max(map(max, changes))
    span = (most - low) or 1.0
    first, last = each.steps[0].size, each.steps[-1].size

    def across(size: float) -> float:
        return LEFT + WIDE * (size - first) / max(1, last - first)

    def down(change: float) -> float:
        return top + 20 + HIGH * (1 - (change - low) / span)

    yield f'<text x="{LEFT}" y="{top + 10}">{markup(class_title(each, names))}</text>'
    yield f'<path class="axis" d="M{LEFT} {top + 20}V{top + 20 + HIGH}H{LEFT + WIDE}"/>'
    for change in sorted({low, 0.0, most}):
        yield f'<text x="{LEFT - 6}" y="{down(change) + 4:.1f}" text-anchor="end">{change:+.0f} %</text>'
    for size in sorted({first, each.group.size, last}):
        yield f'<text x="{across(size):.1f}" y="{top + 36 + HIGH}" text-anchor="middle">{size}</text>'
    now = across(each.group.size)
    yield f'<path class="now" d="M{now:.1f} {top + 20}V{top + 20 + HIGH}"/>'
    for target, line in enumerate(changes):
        yield _stairs(each, [down(change) for change in line], across, COLORS[target % len(COLORS)])
        for step, change in zip(each.steps, line, strict=True):
            if step.hazards[target] > each.present.hazards[target]:
                title = f"{step.size} channels: a known error or wrong result"
                yield f'<circle class="bad" cx="{across(step.size):.1f}" cy="{down(change):.1f}" r="2.5">'
                yield f"<title>{title}</title></circle>"


def _percent(each: Staircase, target: int, at: int) -> float:
    """Change of a step against today's, in percent."""
    have = each.present.instructions[target]
    return 100 * (each.steps[at].instructions[target] - have) / have if have else 0.0


def _stairs(each: Staircase, heights: list[float], across: Callable[[float], float], color: str) -> str:
    """One line of steps, each as wide as one channel."""
    path = f"M{across(each.steps[0].size):.1f} {heights[0]:.1f}"
    for step, height in zip(each.steps[1:], heights[1:], strict=True):
        path += f"H{across(step.size):.1f}V{height:.1f}"
    return f'<path class="line" stroke="{color}" d="{path}"/>'
