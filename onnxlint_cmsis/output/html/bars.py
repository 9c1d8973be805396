"""Bars: the length of one row, and the shares of all kernels in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.foreign_text import counted, markup

if TYPE_CHECKING:
    from onnxlint_cmsis.output.html.layer_table import LayerColumn


SEEN = 0.004
"""Part of the line below which a bar would not be seen."""


def bar(title: str, color: int, ends: tuple[int, int] | None, longest: int) -> str:
    """A bar as long as its part of the longest one, paler from the least to the most; a frame for the unknown."""
    shape = '<rect class="unknown" x="0.5" y="0.5" width="99%" height="11"/>'
    if ends is not None:
        least, most = (100 * max(end / longest, SEEN) for end in ends)
        shape = f'<rect class="q{color}" width="{least:.2f}%" height="12"/>'
        if most > least:
            shape += f'<rect class="q{color} range" x="{least:.2f}%" width="{most - least:.2f}%" height="12"/>'
    return f'<svg class="bar" width="100%" height="12" role="img"><title>{markup(title)}</title>{shape}</svg>'


def kernel_bar(column: LayerColumn) -> str:
    """One line, divided among the kernels of a column."""
    parts, left = [], 0.0
    for kernel, share in column.kernels.items():
        part = 100 * share.instructions / column.every
        title = (
            f"{kernel}: {counted(share.layers, 'layer')}, {share.instructions:,} predicted instructions, {part:.1f} %"
        )
        parts.append(
            f'<rect class="q{share.color} part" x="{left:.2f}%" width="{part:.2f}%" height="20">'
            f"<title>{markup(title)}</title></rect>"
        )
        left += part
    title = "<title>Predicted instructions of each kernel</title>"
    return f'<svg class="bar" width="100%" height="20" role="img">{title}{"".join(parts)}</svg>'
