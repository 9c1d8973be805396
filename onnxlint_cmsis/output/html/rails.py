"""Connections beside the rows of the graph: a dot for each layer, a lane for each long way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.foreign_text import markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from onnxlint_cmsis.analysis.dimensions import DimensionClass
    from onnxlint_cmsis.output.html.graph import GraphRow


LANES = 10
"""Lanes side by side; connections beyond share the last one."""
STEP, DOT = 11, 18
"""Pixels between lanes, and from the top of a row to its dot."""


class Way(NamedTuple):
    """A tensor as it is drawn, from the row that makes it to rows that read it."""

    source: int
    """Row that makes it."""
    readers: tuple[int, ...]
    """Rows that read it, in order, each once."""
    lane: int
    """0 for one that ends in the next row, else how far left it runs."""


def ways(rows: Sequence[GraphRow]) -> tuple[Way, ...]:
    """Lanes for all connections; one that only leads to the next row needs none."""
    ends: list[int] = []
    drawn = []
    for source in range(len(rows)):
        readers = tuple(number for number, row in enumerate(rows) if source in row.reads and number > source)
        if readers[:1] == (source + 1,):
            drawn.append(Way(source, readers[:1], 0))
        if far := tuple(reader for reader in readers if reader > source + 1):
            lane = next((number for number, end in enumerate(ends) if end <= source), len(ends))
            ends[lane : lane + 1] = [far[-1]]
            drawn.append(Way(source, far, 1 + min(lane, LANES - 1)))
    return tuple(drawn)


def rail_width(drawn: Iterable[Way]) -> int:
    """Pixels that the connections take."""
    return 2 * STEP + STEP * max((way.lane for way in drawn), default=0)


def rail_svg(drawn: Sequence[Way], rows: Sequence[GraphRow], number: int, names: Mapping[str, str]) -> str:
    """The drawing beside a row."""
    width = rail_width(drawn)
    reads = ", ".join(names.get(rows[reader].name, rows[reader].name) for reader in rows[number].reads)
    title = f"{names.get(rows[number].name, rows[number].name)} reads {reads or 'nothing that is drawn'}"
    passing = (way for way in drawn if way.source <= number <= way.readers[-1])
    parts = "".join(part for way in passing for part in _way(way, number, width - STEP, rows[way.source].classes))
    dot = f'<circle class="dot" cx="{width - STEP}" cy="{DOT}" r="4"/>'
    head = f'<svg class="rail" width="{width}" height="100%" role="img"><title>{markup(title)}</title>'
    return f"{head}{parts}{dot}</svg>"


def _way(way: Way, row: int, across: int, classes: Sequence[DimensionClass]) -> Iterator[str]:
    """What a connection draws in one row, in the look of the first class of its channels."""
    kind = " ".join(("edge", *(classes[0].freedom.value.lower() for _ in classes[:1]), *(f"k{c.id}" for c in classes)))
    title = f"<title>{markup('; '.join(map(class_words, classes)) or 'no channel class')}</title>"

    def line(x: int, top: str, bottom: str) -> str:
        return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}">{title}</line>'

    lane, first, last = across - STEP * way.lane, way.source, way.readers[-1]
    if way.lane == 0:
        yield line(across, str(DOT), "100%") if row == first else line(across, "0", str(DOT))
        return
    if row == first:
        yield f'<path class="{kind}" d="M{across} {DOT}Q{lane} {DOT} {lane} {DOT + 12}">{title}</path>'
        yield line(lane, str(DOT + 12), "100%")
    elif row in way.readers:
        yield f'<path class="{kind}" d="M{lane} 4Q{lane} {DOT} {across} {DOT}">{title}</path>'
    if first < row:
        yield line(lane, "0", "100%" if row < last else "5")


def class_words(group: DimensionClass) -> str:
    """`#3 COUPLED, 16 channels`."""
    return f"#{group.id} {group.freedom.value}, {group.size} channels"
