"""The layers of a model as text: a block for each target, a row for each layer, the totals below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.layer_cells import BAR, NO_LAYER, is_operator, kernel_of, layer_cells, mark_of
from onnxlint_cmsis.commands.text_table import TableFit, fitted
from onnxlint_cmsis.reporters.plain import paint
from onnxlint_cmsis.reporters.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.layers_report import LayersReport, Total

HEAD = (
    "", "layer", "op", "kernel", "called", "runtime", "input", "output", "MACs", "instructions", "share", "scratch",
    "constants", "fused", "classes", "Q-format", "writes",
)  # fmt: skip
"""Columns in the order they are shown."""
SPARE = (
    "runtime", "Q-format", "output", "called", "MACs", "op", "input", "scratch", "constants", "fused", "classes",
    "writes",
)  # fmt: skip
"""Columns that a narrow terminal leaves out, the last one first."""
ELASTIC = {"layer": 16, "kernel": 27}
"""Columns whose cells are shortened in the middle first, and the least characters of a cell."""
NARROW = 72
"""Columns of a terminal below which bars are left out and cells are shortened further."""
NARROW_ELASTIC = {"layer": 10, "kernel": 17}
"""ELASTIC in such a terminal."""
NUMBERS = ("MACs", "instructions", "scratch", "constants")
"""Columns that are aligned to the right."""
MARKS = {
    "!": "a known error or wrong result (CNN3xx)",
    "~": "plain code computes it, no CMSIS-NN",
    "x": "neither computes it",
    "?": "not decided",
}
"""What stands in front of a layer that does not simply run in CMSIS-NN."""
RUNTIME_MARKS = {
    "!": "a known error or wrong result (CNN3xx, CNN4xx)",
    "~": "reference code of the runtime computes it, no CMSIS-NN",
    "x": "the runtime refuses it, or stops there",
    "?": "not decided",
}
"""The same where a runtime is judged."""
STYLES = {"!": "error", "x": "error", "~": "warning", "?": "note"}
"""Styles of lines about layers with a mark."""
MOST_NAMES = 3
"""Layers that are named before a reason which they share."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False, color: bool = False) -> str:
    """What the model is judged for, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{paint(wrapped(note, width), 'faint', color)}\n\n" for note in report.notes)
    return notes + "\n".join("".join(_block(report, total, names, width, color)) for total in report.totals)


def _block(report: LayersReport, total: Total, names: Mapping[str, str], width: int, color: bool) -> Iterator[str]:
    rows = [row for row in report.rows if row["target"] == total.target]
    yield paint(total.target, "path", color) + "\n"
    narrow = 0 < width < NARROW
    cells = [layer_cells(row, total, names, bar=0 if narrow else BAR) for row in rows]
    empty = {name for place, name in enumerate(HEAD) if not any(line[place].strip("- ") for line in cells)}
    kept = [place for place, name in enumerate(HEAD) if name not in empty]
    head = [HEAD[place] for place in kept]
    lines = [[line[place] for place in kept] for line in cells]
    spare = [name for name in SPARE if name not in empty]
    table = fitted(head, lines, NUMBERS, TableFit(width, NARROW_ELASTIC if narrow else ELASTIC, spare))
    titles, *body = table.splitlines()
    yield paint(titles, "faint", color) + "\n"
    for line, row in zip(body, rows, strict=True):
        yield _painted(line, mark_of(row), color) + "\n"
    for line in (*_legend(rows, names), *total_lines(total)):
        yield _painted(wrapped(line, width), line[:1], color) + "\n"


def _painted(text: str, mark: str, color: bool) -> str:
    """The text in the style of its layer's mark."""
    return paint(text, STYLES[mark], color) if mark in STYLES else text


def _legend(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """What the marks that occur mean, which hazards there are, and why no kernel computes a layer."""
    seen = {mark_of(row) for row in rows}
    marks = RUNTIME_MARKS if any(is_operator(row) or "runtime" in row for row in rows) else MARKS
    yield from (f"{mark} {text}" for mark, text in marks.items() if mark in seen)
    if any(kernel_of(row) == NO_LAYER for row in rows):
        yield f"{NO_LAYER}: it copies bytes at most"
    for row in rows:
        if row["hazards"]:
            node = str(row["node"])
            yield f"  {names.get(node, node)}: {', '.join(row['hazards'])}"  # type: ignore[arg-type]
    yield from _ranges(rows, names)
    yield from _reasons(rows, names)
    unknown = {str(found["unknown"]) for row in rows if isinstance(found := row.get("q_format"), dict)} - {""}
    yield from (f"Q-format ?: {reason}" for reason in sorted(unknown))


def _ranges(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """The least and the most instructions of layers without one number, and what decides."""
    from onnxlint_cmsis.cmsis_nn.cost.data_range import KERNELS

    for row in rows:
        found, node = row.get("instructions_range"), str(row["node"])
        kernel = str(row.get("effective") or row["kernel"])
        if isinstance(found, list) and kernel in KERNELS:
            why = KERNELS[kernel].decides
            yield f"  {names.get(node, node)}: {found[0]:,} to {found[1]:,} instructions, {why}"


def _reasons(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Why the layers that are marked are, a line for each reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        reason, node = str(row.get("runtime_reason") or row.get("reason", "")), str(row["node"])
        if reason and mark_of(row) != " ":
            found.setdefault(reason, []).append(names.get(node, node))
    for reason, nodes in found.items():
        more = f" and {len(nodes) - MOST_NAMES} more" if len(nodes) > MOST_NAMES else ""
        yield f"  {', '.join(nodes[:MOST_NAMES])}{more}: {reason}"


def total_lines(total: Total) -> Iterator[str]:
    """The sums of a target."""
    every = total.layers + total.unknown_layers
    noun = "layer" if every == 1 else "layers"
    left = f"; the cost of {total.unknown_layers:,} of {every:,} {noun} is unknown" if total.unknown_layers else ""
    macs = "unknown" if total.macs is None else f"{total.macs:,}"
    number = f"{total.instructions:,}"
    if total.instructions_range:
        least, most = total.instructions_range
        number = f"between {least:,} and {most:,}"
    cost = f"{number} predicted instructions (not cycles){left}" if total.cost_known else "cost unknown"
    yield f"total: {every:,} {noun}, {macs} MACs, {cost}"
    arena = "unknown" if total.arena is None else f"at least {total.arena:,}"
    arena = arena if total.arena_used is None else f"{total.arena_used:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {total.scratch:,}"
    yield f"{memory}; instructions as measured on {total.measured_on}" if total.cost_known else memory
    if total.time:
        yield f"time: {total.time.text}"
