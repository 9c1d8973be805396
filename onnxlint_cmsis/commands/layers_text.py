"""The layers of a model as text: a block for each target, a row for each layer, the totals below."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.text_table import TableFit, fitted
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.reporters.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.layers_report import LayersReport, Total

HEAD = (
    "", "layer", "op", "kernel", "input", "output", "MACs", "instructions", "share", "scratch", "constants", "fused",
    "runtime", "classes",
)  # fmt: skip
"""Columns in the order they are shown."""
SPARE = ("output", "MACs", "op", "input", "scratch", "constants", "fused", "runtime", "classes")
"""Columns that a narrow terminal leaves out, the last one first."""
ELASTIC = {"layer": 16, "kernel": 25}
"""Columns whose cells are shortened in the middle first, and the least characters of a cell."""
NUMBERS = ("MACs", "instructions", "scratch", "constants")
"""Columns that are aligned to the right."""
MARKS = {
    "!": "a known error or wrong result (CNN3xx)",
    "~": "plain code computes it, no CMSIS-NN",
    "x": "neither computes it",
    "?": "not decided",
}
"""What stands in front of a layer that does not simply run in CMSIS-NN."""
_MARKS = {Verdict.PLAIN.value: "~", Verdict.REFUSED.value: "x", Verdict.UNDECIDED.value: "?"}
BAR = 8
"""Columns of the longest bar."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False) -> str:
    """Blocks of all targets."""
    names = {} if full_names else report.names
    return "\n".join("".join(_block(report, total, names, width)) for total in report.totals)


def _block(report: LayersReport, total: Total, names: Mapping[str, str], width: int) -> Iterator[str]:
    rows = [row for row in report.rows if row["target"] == total.target]
    yield f"{total.target}\n"
    cells = [_cells(row, total, names) for row in rows]
    empty = {name for place, name in enumerate(HEAD) if not any(line[place].strip("- ") for line in cells)}
    kept = [place for place, name in enumerate(HEAD) if name not in empty]
    head = [HEAD[place] for place in kept]
    lines = [[line[place] for place in kept] for line in cells]
    spare = [name for name in SPARE if name not in empty]
    yield fitted(head, lines, NUMBERS, TableFit(width, ELASTIC, spare))
    for line in (*_legend(rows, names), *total_lines(total)):
        yield wrapped(line, width) + "\n"


def _cells(row: Row, total: Total, names: Mapping[str, str]) -> list[str]:
    node = str(row["node"])
    return [
        _mark(row),
        names.get(node, node),
        str(row["op"]),
        _kernel(row),
        _sizes(row["input"]),
        _sizes(row["output"]),
        _number(row["macs"]),
        "unknown" if row["instructions"] is None else _number(row["instructions"]),
        _share(row["instructions"], total.instructions),
        "-" if row["scratch"] == -1 else _number(row["scratch"]),
        _number(row["constants"]),
        ", ".join(each["op"] for each in row["fused"]),  # type: ignore[attr-defined]
        str(row.get("runtime", "")),
        "; ".join(f"{name} {text}" for name, text in row["classes"].items()),  # type: ignore[attr-defined]
    ]


def _mark(row: Row) -> str:
    return "!" if row["hazards"] else _MARKS.get(str(row["verdict"]), " ")


def _kernel(row: Row) -> str:
    """The kernel; `effective (by kernel)` where it hands the work to another one."""
    taken, effective = str(row["kernel"]), str(row["effective"])
    if not taken:
        return str(row["verdict"])
    return taken if effective in ("", taken) else f"{effective} (by {taken})"


def _sizes(sizes: object) -> str:
    """`48x48x8` without a batch of one; ? for a size that is not known."""
    numbers = list(sizes) if isinstance(sizes, (list, tuple)) else []
    shown = numbers[1:] if len(numbers) == 4 and numbers[0] == 1 else numbers
    return "x".join("?" if number is None else str(number) for number in shown)


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"


def _share(instructions: object, every: int) -> str:
    """`12 % ##`, of the instructions that are known."""
    if not isinstance(instructions, int) or not every:
        return ""
    part = instructions / every
    return f"{100 * part:3.0f} % {_block_character() * round(BAR * part)}".rstrip()


def _block_character() -> str:
    """A full block where standard output can write one."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"


def _legend(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """What the marks that occur mean, and which hazards there are."""
    seen = {_mark(row) for row in rows}
    yield from (f"{mark} {text}" for mark, text in MARKS.items() if mark in seen)
    for row in rows:
        if row["hazards"]:
            node = str(row["node"])
            yield f"  {names.get(node, node)}: {', '.join(row['hazards'])}"  # type: ignore[arg-type]


def total_lines(total: Total) -> Iterator[str]:
    """The sums of a target."""
    every = total.layers + total.unknown_layers
    left = f"; the cost of {total.unknown_layers:,} of {every:,} layers is unknown" if total.unknown_layers else ""
    macs = "unknown" if total.macs is None else f"{total.macs:,}"
    yield f"total: {every:,} layers, {macs} MACs, {total.instructions:,} predicted instructions (not cycles){left}"
    arena = "unknown" if total.arena is None else f"at least {total.arena:,}"
    arena = arena if total.arena_used is None else f"{total.arena_used:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {total.scratch:,}"
    yield f"{memory}; instructions as measured on {total.measured_on}"
    if total.time:
        yield f"time: {total.time.text}"
