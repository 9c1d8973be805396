"""A table of text with aligned columns, no wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.analysis.short_names import distinct_cuts
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.foreign_text import printable

_GAP = "  "


class TableFit(NamedTuple):
    """How a table gets narrow enough."""

    width: int = 0
    """Columns of the terminal; 0 for lines of any length."""
    elastic: Mapping[str, int] = {}
    """Columns whose cells may be shortened in the middle, and the least characters of a cell."""
    spare: Sequence[str] = ()
    """Columns left out if the table is still too wide, the last one first."""


def fitted(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), fit: TableFit | None = None
) -> str:
    """The rows under their heads, as wide as `fit` allows; columns named in `right` are aligned to the right."""
    width, elastic, spare = fit or TableFit()
    lines = [list(head), *([printable(cell) for cell in row] for row in rows)]
    shown = [*head]
    least = {name: min(_widest(lines, head, name), kept) for name, kept in elastic.items()}
    for name in reversed(spare):
        if width and _total([least.get(name, _widest(lines, head, name)) for name in shown]) > width:
            shown.remove(name)
    widths = {name: _widest(lines, head, name) for name in shown}
    while width and _total([*widths.values()]) > width:
        able = [name for name in elastic if name in shown and widths[name] > least[name]]
        if not able:
            break
        widths[max(able, key=lambda name: widths[name])] -= 1
    columns = [_column([line[list(head).index(name)] for line in lines], wide) for name, wide in widths.items()]
    return "".join(_line(line, widths, right) for line in zip(*columns, strict=True))


def _widest(lines: Sequence[Sequence[str]], head: Sequence[str], name: str) -> int:
    column = list(head).index(name)
    return max(len(line[column]) for line in lines)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _column(cells: Sequence[str], width: int) -> list[str]:
    """The cells, those that are too long without their middle; different cells stay different."""
    shorter = distinct_cuts(cells, width)
    return [shorter.get(cell, cell) for cell in cells]


def _line(cells: Sequence[str], widths: dict[str, int], right: Sequence[str]) -> str:
    padded = (
        cell.rjust(width) if name in right else cell.ljust(width)
        for cell, (name, width) in zip(cells, widths.items(), strict=True)
    )
    return _GAP.join(padded).rstrip() + "\n"
