"""The cells of a layer's row as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.output.foreign_text import block_character
from onnxlint_cmsis.output.layer_words import cost_of, error_text, kernel_of, mark_of, sizes_text

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.layer_totals import Total
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.q_formats import LayerFormat


BAR = 8
"""Columns of the longest bar."""


def layer_cells(layer: LayerReport, total: Total, names: Mapping[str, str], bar: int = BAR) -> list[str]:
    """Cells in the order of the columns; the longest bar has `bar` columns."""
    judged = layer.judged.verdict.value if layer.judged else ""
    return [
        mark_of(layer),
        names.get(layer.node, layer.node),
        "" if layer.operator else layer.op,
        kernel_of(layer),
        layer.kernel if layer.effective not in ("", layer.kernel) else "",
        "" if judged == layer.verdict.value else judged,
        sizes_text(layer.input),
        sizes_text(layer.output),
        _number(layer.macs),
        cost_of(layer),
        _share(layer.instructions, total.instructions, bar),
        layer.time.amount if layer.time else "",
        error_text(layer.error),
        "-" if layer.scratch == -1 else _number(layer.scratch),
        _number(layer.constants),
        ", ".join(node.op_type for node in layer.fused),
        "; ".join(f"{name} {text}" for name, text in layer.classes.items()),
        _format(layer.q_format) if layer.q_format else "",
        names.get(layer.tensor, layer.tensor),
    ]


def _format(q_format: LayerFormat) -> str:
    """Fraction bits and shifts: `in 6, w 8, b 7, out 5, <<7 >>9`; ? for those that are not known."""
    numbers = {"in": q_format.input, "w": q_format.weights, "b": q_format.bias, "out": q_format.output}
    kept = numbers if q_format.weights is not None else ("in", "out")
    parts = [f"{name} {'?' if numbers[name] is None else numbers[name]}" for name in kept]
    if q_format.out_shift is not None:
        parts.append(f"<<{q_format.bias_shift} >>{q_format.out_shift}")
    return ", ".join(parts)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _share(instructions: int | None, every: int, bar: int) -> str:
    """`12 % ##`, of the instructions that are known."""
    if instructions is None or not every:
        return ""
    part = instructions / every
    return f"{100 * part:3.0f} % {block_character() * round(bar * part)}".rstrip()


MOST_NAMES = 3
"""Layers that are named before a reason which they share."""
