"""Connections beside the rows of the graph, one drawing for each row: a dot for the layer, a lane for each long way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.reporters.plain import markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnxlint_cmsis.html_report.graph_records import ChannelClass, GraphDrawing, GraphEdge

LANES = 10
"""Lanes side by side; connections beyond share the last one."""
STEP, DOT = 11, 18
"""Pixels between lanes, and from the top of a row to its dot."""


class Way(NamedTuple):
    """One connection as it is drawn."""

    edge: GraphEdge
    """What it connects."""
    lane: int
    """0 for one that ends in the next row, else how far left it runs."""


class Rails(NamedTuple):
    """The connections of a drawing."""

    ways: tuple[Way, ...]
    """All of them."""
    width: int
    """Pixels that they take."""


def rails(drawing: GraphDrawing) -> Rails:
    """Lanes for all connections; one that only leads to the next row needs none."""
    ends: list[int] = []
    ways = []
    for edge in drawing.edges:
        if edge.readers[0] == edge.source + 1:
            ways.append(Way(edge._replace(readers=edge.readers[:1]), 0))
        far = tuple(reader for reader in edge.readers if reader > edge.source + 1)
        if far:
            lane = next((place for place, end in enumerate(ends) if end <= edge.source), len(ends))
            ends[lane : lane + 1] = [far[-1]]
            ways.append(Way(edge._replace(readers=far), 1 + min(lane, LANES - 1)))
    return Rails(tuple(ways), 2 * STEP + STEP * min(len(ends), LANES))


def rail_svg(found: Rails, drawing: GraphDrawing, row: int) -> str:
    """The drawing beside a row."""
    across = found.width - STEP
    classes = {each.id: each for each in drawing.classes}
    reads = ", ".join(drawing.rows[place].name for place in drawing.rows[row].reads)
    title = f"{drawing.rows[row].name} reads {reads or 'nothing that is drawn'}"
    parts = [
        part
        for way in found.ways
        if way.edge.source <= row <= way.edge.readers[-1]
        for part in _way(way, row, across, classes)
    ]
    dot = f'<circle class="dot" cx="{across}" cy="{DOT}" r="4"/>'
    head = f'<svg class="rail" width="{found.width}" height="100%" role="img"><title>{markup(title)}</title>'
    return f"{head}{''.join(parts)}{dot}</svg>"


def _way(way: Way, row: int, across: int, classes: Mapping[int, ChannelClass]) -> Iterator[str]:
    """What a connection draws in one row."""
    kind, title = _look(way.edge, classes)

    def line(x: int, top: str, bottom: str) -> str:
        return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}">{title}</line>'

    lane, first, last = across - STEP * way.lane, way.edge.source, way.edge.readers[-1]
    if way.lane == 0:
        yield line(across, str(DOT), "100%") if row == first else line(across, "0", str(DOT))
        return
    if row == first:
        yield f'<path class="{kind}" d="M{across} {DOT}Q{lane} {DOT} {lane} {DOT + 12}">{title}</path>'
        yield line(lane, str(DOT + 12), "100%")
    elif row in way.edge.readers:
        yield f'<path class="{kind}" d="M{lane} 4Q{lane} {DOT} {across} {DOT}">{title}</path>'
    if first < row:
        yield line(lane, "0", "100%" if row < last else "5")


def _look(edge: GraphEdge, classes: Mapping[int, ChannelClass]) -> tuple[str, str]:
    """Classes of the style sheet, and the title: those of the channel class, which is the first of several."""
    known = [classes[number] for number in edge.classes if number in classes]
    if not known:
        return "edge", "<title>no channel class</title>"
    marks = " ".join(f"k{each.id}" for each in known)
    title = "; ".join(class_words(each) for each in known)
    return f"edge {known[0].freedom.lower()} {marks}", f"<title>{markup(title)}</title>"


def class_words(each: ChannelClass) -> str:
    """`#3 COUPLED, 16 channels`."""
    return f"#{each.id} {each.freedom}, {each.size} channels"
