"""The layers of a model as text: a block for each target, a row for each layer, the totals below."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.commands.text_table import TableFit, fitted
from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.reporters.wrapping import wrapped
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict

if TYPE_CHECKING:
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.layers_report import LayersReport, Total

HEAD = (
    "", "layer", "op", "kernel", "called", "runtime", "input", "output", "MACs", "instructions", "share", "scratch",
    "constants", "fused", "classes", "writes",
)  # fmt: skip
"""Columns in the order they are shown."""
SPARE = ("runtime", "output", "called", "MACs", "op", "input", "scratch", "constants", "fused", "classes", "writes")
"""Columns that a narrow terminal leaves out, the last one first."""
ELASTIC = {"layer": 16, "kernel": 27}
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
RUNTIME_MARKS = {
    "!": "a known error or wrong result (CNN3xx, CNN4xx)",
    "~": "reference code of the runtime computes it, no CMSIS-NN",
    "x": "the runtime refuses it, or stops there",
    "?": "not decided",
}
"""The same where a runtime is judged."""
NO_LAYER = "no layer"
"""Stands for the kernel of an operator that copies bytes at most."""
MOST_NAMES = 3
"""Layers that are named before a reason which they share."""
_MARKS = {
    Verdict.PLAIN.value: "~",
    Verdict.REFUSED.value: "x",
    Verdict.UNDECIDED.value: "?",
    RuntimeVerdict.REFERENCE.value: "~",
    RuntimeVerdict.HALTS.value: "x",
    RuntimeVerdict.WRONG.value: "!",
}
BAR = 8
"""Columns of the longest bar."""


def layers_text(report: LayersReport, width: int, *, full_names: bool = False) -> str:
    """What the model is judged for, then the blocks of all targets."""
    names = {} if full_names else report.names
    notes = "".join(f"{wrapped(note, width)}\n\n" for note in report.notes)
    return notes + "\n".join("".join(_block(report, total, names, width)) for total in report.totals)


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
    node = _label(row)
    runtime = str(row.get("runtime", ""))
    return [
        _mark(row),
        names.get(node, node),
        "" if _is_operator(row) else str(row["op"]),
        _kernel(row),
        _called(row),
        "" if runtime == row["verdict"] else runtime,
        _sizes(row["input_dims" if _is_operator(row) else "input"]),
        _sizes(row["output_dims" if _is_operator(row) else "output"]),
        _number(row["macs"]),
        _cost(row),
        _share(row["instructions"], total.instructions),
        _scratch(row["scratch"]),
        _number(row.get("constants")),
        ", ".join(each["op"] for each in row.get("fused", [])),  # type: ignore[attr-defined]
        "; ".join(f"{name} {text}" for name, text in row["classes"].items()),  # type: ignore[attr-defined]
        _writes(row, names),
    ]


def _label(row: Row) -> str:
    """Name of the layer as findings have it."""
    return str(row["label"] if _is_operator(row) else row["node"])


def _is_operator(row: Row) -> bool:
    """Whether the row is that of an operator of a `.tflite` file, whose label has its type and number."""
    return "index" in row


def _verdict(row: Row) -> str:
    """What becomes of the layer: in the runtime where one is judged."""
    return str(row.get("runtime", row["verdict"]))


def _mark(row: Row) -> str:
    if not row.get("layer", True):
        return " "
    return "!" if row["hazards"] else _MARKS.get(_verdict(row), " ")


def _kernel(row: Row) -> str:
    """The kernel that does the work."""
    if not row.get("layer", True):
        return NO_LAYER
    taken, effective = str(row["kernel"]), str(row.get("effective", ""))
    if not taken or (_is_operator(row) and _mark(row) in ("~", "x")):
        return str(row["verdict"])
    return effective or taken


def _called(row: Row) -> str:
    """The kernel that is called, where it hands the work to another one."""
    return "" if row.get("effective", "") in ("", row["kernel"]) else str(row["kernel"])


def _writes(row: Row, names: Mapping[str, str]) -> str:
    """Tensor that an operator writes, by its short name."""
    return names.get(str(row["output"]), str(row["output"])) if _is_operator(row) else ""


def _cost(row: Row) -> str:
    """Predicted instructions; - for what is no layer."""
    if not row.get("layer", True):
        return "-"
    return "unknown" if row["instructions"] is None else _number(row["instructions"])


def _scratch(found: object) -> str:
    """Bytes, those of all requests of an operator together."""
    if isinstance(found, list):
        return _number(sum(found))
    return "-" if found == -1 else _number(found)


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
    """What the marks that occur mean, which hazards there are, and why no kernel computes a layer."""
    seen = {_mark(row) for row in rows}
    marks = RUNTIME_MARKS if any(_is_operator(row) or "runtime" in row for row in rows) else MARKS
    yield from (f"{mark} {text}" for mark, text in marks.items() if mark in seen)
    if any(_kernel(row) == NO_LAYER for row in rows):
        yield f"{NO_LAYER}: it copies bytes at most"
    for row in rows:
        if row["hazards"]:
            node = _label(row)
            yield f"  {names.get(node, node)}: {', '.join(row['hazards'])}"  # type: ignore[arg-type]
    yield from _reasons(rows, names)


def _reasons(rows: list[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Why the layers that are marked are, a line for each reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        reason, node = str(row.get("runtime_reason") or row.get("reason", "")), _label(row)
        if reason and _mark(row) != " ":
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
    yield f"total: {every:,} {noun}, {macs} MACs, {total.instructions:,} predicted instructions (not cycles){left}"
    arena = "unknown" if total.arena is None else f"at least {total.arena:,}"
    arena = arena if total.arena_used is None else f"{total.arena_used:,}"
    memory = f"constants {total.constants:,} bytes, arena {arena}, scratch {total.scratch:,}"
    yield f"{memory}; instructions as measured on {total.measured_on}"
    if total.time:
        yield f"time: {total.time.text}"
