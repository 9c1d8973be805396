"""Bars: the length of one layer, and the shares of all kernels in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.html_report.page_records import KernelShare, LayerLine

SEEN = 0.004
"""Part of the line below which a bar would not be seen."""


def layer_bar(line: LayerLine) -> str:
    """The bar of a layer, as long as its part of the longest one; hatched over where there is something to look at."""
    if line.instructions is None:
        title = f"{line.name}: cost {line.cost}"
        shape = '<rect class="unknown" x="0.5" y="0.5" width="99%" height="11"/>'
    else:
        title = f"{line.name}: {line.instructions:,} predicted instructions, {line.kernel}"
        wide = max(line.length, SEEN)
        shape = f'<rect class="q{line.color}" width="{100 * wide:.2f}%" height="12"/>'
    return f'<svg class="bar" width="100%" height="12" role="img"><title>{markup(title)}</title>{shape}</svg>'


def kernel_bar(kernels: Sequence[KernelShare]) -> str:
    """One line, divided among the kernels."""
    parts, left = [], 0.0
    for each in kernels:
        title = f"{each.kernel}: {100 * each.share:.1f} %"
        parts.append(
            f'<rect class="q{each.color} part" x="{100 * left:.2f}%" width="{100 * each.share:.2f}%" height="28">'
            f"<title>{markup(title)}</title></rect>"
        )
        left += each.share
    title = "<title>Predicted instructions of each kernel</title>"
    return f'<svg class="stack" width="100%" height="28" role="img">{title}{"".join(parts)}</svg>'


def swatch(color: int) -> str:
    """A small square in the colour of a kernel."""
    shape = f'<title>Colour of the kernel</title><rect class="q{color}" width="12" height="12"/>'
    return f'<svg class="swatch" width="12" height="12" role="img">{shape}</svg>'
