"""The cells of a layer's row as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.verdict import Verdict
from onnxlint_cmsis.runtimes.runtime_verdict import RuntimeVerdict

if TYPE_CHECKING:
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.layers_report import Total

NO_LAYER = "no layer"
"""Stands for the kernel of an operator that copies bytes at most."""
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


def layer_cells(row: Row, total: Total, names: Mapping[str, str], bar: int = BAR) -> list[str]:
    """Cells in the order of the columns; the longest bar has `bar` columns."""
    node = str(row["node"])
    runtime = str(row.get("runtime", ""))
    return [
        mark_of(row),
        names.get(node, node),
        "" if is_operator(row) else str(row["op"]),
        kernel_of(row),
        _called(row),
        "" if runtime == row["verdict"] else runtime,
        _sizes(row["input_dims" if is_operator(row) else "input"]),
        _sizes(row["output_dims" if is_operator(row) else "output"]),
        _number(row["macs"]),
        _cost(row),
        _share(row["instructions"], total.instructions, bar),
        _scratch(row["scratch"]),
        _number(row.get("constants")),
        ", ".join(each["op"] for each in row.get("fused", [])),  # type: ignore[attr-defined]
        "; ".join(f"{name} {text}" for name, text in row["classes"].items()),  # type: ignore[attr-defined]
        _format(row.get("q_format")),
        _writes(row, names),
    ]


def _format(found: object) -> str:
    """Fraction bits and shifts: `in 6, w 8, b 7, out 5, <<7 >>9`; ? for those that are not known."""
    if not isinstance(found, dict):
        return ""
    names = {"input": "in", "weights": "w", "bias": "b", "output": "out"}
    weighted = found["weights"] is not None
    kept = [name for name in names if weighted or name in ("input", "output")]
    parts = [f"{names[name]} {'?' if found[name] is None else found[name]}" for name in kept]
    if found["out_shift"] is not None:
        parts.append(f"<<{found['bias_shift']} >>{found['out_shift']}")
    return ", ".join(parts)


def is_operator(row: Row) -> bool:
    """Whether the row is that of an operator of a `.tflite` file, whose name has its type and number."""
    return "index" in row


def _verdict(row: Row) -> str:
    """What becomes of the layer: in the runtime where one is judged."""
    return str(row.get("runtime", row["verdict"]))


def mark_of(row: Row) -> str:
    """What stands in front of the layer."""
    if not row.get("layer", True):
        return " "
    return "!" if row["hazards"] else _MARKS.get(_verdict(row), " ")


def kernel_of(row: Row) -> str:
    """The kernel that does the work."""
    if not row.get("layer", True):
        return NO_LAYER
    taken, effective = str(row["kernel"]), str(row.get("effective", ""))
    if not taken or (is_operator(row) and mark_of(row) in ("~", "x")):
        return str(row["verdict"])
    return effective or taken


def _called(row: Row) -> str:
    """The kernel that is called, where it hands the work to another one."""
    return "" if row.get("effective", "") in ("", row["kernel"]) else str(row["kernel"])


def _writes(row: Row, names: Mapping[str, str]) -> str:
    """Tensor that an operator writes, by its short name."""
    return names.get(str(row["output"]), str(row["output"])) if is_operator(row) else ""


def _cost(row: Row) -> str:
    """Predicted instructions; - for what is no layer, `once` for what only the first run computes."""
    if not row.get("layer", True):
        return "-"
    if row.get("once"):
        return "once"
    found = row.get("instructions_range")
    if row["instructions"] is None and isinstance(found, list):
        return f"{found[0]:,} to {found[1]:,}"
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


def _share(instructions: object, every: int, bar: int) -> str:
    """`12 % ##`, of the instructions that are known."""
    if not isinstance(instructions, int) or not every:
        return ""
    part = instructions / every
    return f"{100 * part:3.0f} % {_block_character() * round(bar * part)}".rstrip()


def _block_character() -> str:
    """A full block where standard output can write one."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#"
    return "█"
