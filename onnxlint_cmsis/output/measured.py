"""What a device measured beside the prediction, as text and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.output.layer_words import cost_of, kernel_of
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import wrapped

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel

HEAD = ("layer", "kernel", "instructions", "measured", "factor")
RIGHT = ("instructions", "measured", "factor")
FACTOR = "factor: measured by predicted instructions, over that of the model's median layer."
"""What stands under the table."""


def measured_fields(measured: MeasuredModel, path: str) -> dict[str, object]:
    """A profile for JSON; `layers` has a row for each operator, in the order of the model."""
    profile = measured.profile
    return {
        "path": path,
        "form": profile.form,
        "unit": profile.unit,
        "runs": measured.runs,
        "total": profile.total / measured.runs if measured.runs else None,
        "layers": [{"node": row.report.node, "measured": row.value, "factor": row.factor} for row in measured.layers],
        "remarks": [*measured.remarks],
    }


def measured_cells(measured: MeasuredModel, names: Mapping[str, str]) -> list[list[str]]:
    """A row of HEAD for each operator."""
    return [
        [
            names.get(row.report.node, row.report.node),
            kernel_of(row.report),
            cost_of(row.report),
            f"{row.value:,.6g}",
            "" if row.factor is None else f"{row.factor:.2f}",
        ]
        for row in measured.layers
    ]


def measured_words(measured: MeasuredModel) -> list[str]:
    """What stands under the rows: their meaning, the total where there are none, and what the numbers tell."""
    profile = measured.profile
    total = [f"Total: {profile.total:,.6g} {profile.unit}."] if measured.runs and not measured.layers else []
    return [*total, *([FACTOR] if measured.layers else []), *measured.remarks]


def measured_text(measured: MeasuredModel, path: str, names: Mapping[str, str], width: int) -> str:
    """The same as a table, with what the numbers tell below."""
    profile = measured.profile
    runs = f", median of {measured.runs} runs" if measured.runs > 1 else ""
    head = wrapped(f"Measured: {path} ({profile.form}; {profile.unit}{runs})", width)
    rows = measured_cells(measured, names)
    table = fitted(HEAD, rows, RIGHT, TableFit(width, {"layer": 10, "kernel": 17})) if rows else ""
    told = [wrapped(line, width) for line in measured_words(measured)]
    return "\n".join(filter(None, [head, table.rstrip("\n"), *told])) + "\n"
